import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { machineDir } from './places.ts';

/** Least values that several hosts on one machine need; each kubelet and kube-proxy takes inotify instances. */
const WANTED = { 'fs/inotify/max_user_instances': 1024, 'fs/inotify/max_user_watches': 524_288 } as const;
const savedPath = join(machineDir, 'sysctls.json');
const Saved = z.record(z.string(), z.number());

/** Raises what is too low and remembers what it was. A machine that refuses is left as it is: it may be enough. */
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

/** Puts back what `raiseSysctls` changed. */
export async function restoreSysctls(): Promise<void> {
  const saved = Saved.parse(JSON.parse(await readFile(savedPath, 'utf8').catch(() => '{}')));
  for (const [name, value] of Object.entries(saved)) {
    await writeFile(`/proc/sys/${name}`, String(value)).catch(() => {});
  }
  await rm(savedPath, { force: true });
}
