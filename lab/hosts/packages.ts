import { execa } from 'execa';
import { UsageError } from '#base/errors.ts';
import { announced, type Say } from '../artifacts/progress.ts';

const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** Last installation. apt has one lock, and two parts of a build may need packages at once. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Makes sure that commands exist. `needs` names the Debian package of each. It installs them as root on Debian. Otherwise
 * one error lists all missing ones.
 */
export function ensurePackages(needs: Readonly<Record<string, string>>, say: Say): Promise<void> {
  const turn = last.then(() => ensure(needs, say));
  last = turn.catch(() => {});
  return turn;
}

async function ensure(needs: Readonly<Record<string, string>>, say: Say): Promise<void> {
  const missing: string[] = [];
  for (const command of Object.keys(needs)) {
    const found = await execa('sh', ['-c', 'command -v "$1"', 'sh', command], { reject: false });
    if (found.failed) missing.push(command);
  }
  if (missing.length === 0) return;
  const packages = [...new Set(missing.flatMap((command) => (needs[command] ?? command).split(' ')))];
  const apt = await execa('sh', ['-c', 'command -v apt-get'], { reject: false });
  if (process.getuid?.() !== 0 || apt.failed) {
    throw new UsageError(`missing: ${missing.join(', ')} (Debian packages: ${packages.join(' ')})`);
  }
  await announced(say, `apt-get install ${packages.join(' ')}`, async () => {
    const options = {
      timeout: INSTALL_TIMEOUT_MS,
      stdin: 'ignore',
      env: { DEBIAN_FRONTEND: 'noninteractive' },
    } as const;
    await execa('apt-get', ['update', '-q'], options);
    await execa('apt-get', ['install', '-qy', '--no-install-recommends', ...packages], options);
  });
}
