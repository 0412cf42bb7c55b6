import { existsSync } from 'node:fs';
import { access, constants, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'matryoshka-apiserver-';

/** Creates a directory, in memory if possible. It also removes the directories of processes that have ended. */
export async function createStateDir(): Promise<string> {
  const root = await access('/dev/shm', constants.W_OK).then(
    () => '/dev/shm',
    () => tmpdir(),
  );
  for (const name of await readdir(root)) {
    const pid = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-')[0] : undefined;
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) {
      await rm(join(root, name), { recursive: true, force: true });
    }
  }
  return mkdtemp(join(root, `${PREFIX}${process.pid}-`));
}
