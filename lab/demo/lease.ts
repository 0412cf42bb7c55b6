import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { UsageError } from '#base/errors.ts';
import type { Say } from '../artifacts/progress.ts';
import { labDown } from '../hosts/down.ts';
import { keptPath, labDir, network } from '../hosts/places.ts';

const DOCKER_MS = 10_000;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Lists the names of the lab's hosts, running or not. It is synchronous, because the process may end at any time. */
function hostsLeft(): string[] {
  try {
    const filter = `--filter=label=${network.name}`;
    const answer = execFileSync('docker', ['ps', '-a', filter, '--format={{.Names}}'], {
      timeout: DOCKER_MS,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return answer
      .split('\n')
      .filter((name) => name !== '')
      .sort();
  } catch {
    return [];
  }
}

/** Prints what is left of the lab, how to continue with it, and how to remove it. */
function reportWhatIsLeft(): void {
  const left = hostsLeft();
  process.stdout.write(
    left.length === 0
      ? '\nNothing is left.\n'
      : `\nLeft: ${left.join(', ')}. "make demo" goes on with them, "make lab-down" removes them.\n`,
  );
}

/**
 * Runs a demonstration, which has the lab to itself meanwhile. If it succeeds, the lab is removed afterwards, unless `keep`
 * is true. Each other end, such as a signal, prints what is left. A lab that an earlier run has kept is used or removed only
 * with `keep`.
 */
export async function withLab(keep: boolean, say: Say, work: () => Promise<void>): Promise<void> {
  if (!keep && existsSync(keptPath)) {
    throw new UsageError(
      `a lab is here that KEEP=1 kept (${hostsLeft().join(', ')}): "make demo KEEP=1" goes on with it, "make lab-down" removes it`,
    );
  }
  const listeners = Object.entries(SIGNALS).map(([signal, code]) => {
    const end = () => {
      reportWhatIsLeft();
      process.exit(code);
    };
    process.once(signal, end);
    return () => process.off(signal, end);
  });
  try {
    if (keep) {
      mkdirSync(labDir, { recursive: true });
      writeFileSync(keptPath, '');
    }
    await work();
    if (!keep) await labDown(say);
  } catch (error) {
    reportWhatIsLeft();
    throw error;
  } finally {
    for (const off of listeners) off();
  }
}
