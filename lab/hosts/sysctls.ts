import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { machineDir } from './places.ts';

/** Least values for several hosts on one machine. Each kubelet and kube-proxy uses inotify instances. */
const WANTED = { 'fs/inotify/max_user_instances': 1024, 'fs/inotify/max_user_watches': 524_288 } as const;
const savedPath = join(machineDir, 'sysctls.json');
const Saved = z.record(z.string(), z.number());

/** Raises values that are too low, and records the old ones. A refusal is ignored, because the value may suffice. */
export async function raiseSysctls(): Promise<void> {
  const saved = Saved.parse(JSON.parse(await readFile(savedPath, 'utf8').catch(() => '{}')));
  for (const [name, least] of Object.entries(WANTED)) {
    const present = Number(await readFile(`/proc/sys/${name}`, 'utf8'));
    if (present >= least) continue;
    const written = await writeFile(`/proc/sys/${name}`, String(least)).then(
      () => true,
      () => false,
    );
    if (written) saved[name] ??= present;
  }
  await mkdir(machineDir, { recursive: true });
  await writeFile(savedPath, JSON.stringify(saved));
}

/** Restores the values that `raiseSysctls` changed. */
export async function restoreSysctls(): Promise<void> {
  const saved = Saved.parse(JSON.parse(await readFile(savedPath, 'utf8').catch(() => '{}')));
  for (const [name, value] of Object.entries(saved)) {
    await writeFile(`/proc/sys/${name}`, String(value)).catch(() => {});
  }
  await rm(savedPath, { force: true });
}
