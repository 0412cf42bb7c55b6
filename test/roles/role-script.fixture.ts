import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';

const ansible = join(import.meta.dirname, '../..', 'ansible');

/** Creates a directory that represents a host of cluster `mine`; the caller removes it. */
export async function hostFolder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'host-'));
  await mkdir(join(root, 'var/lib/matryoshka'), { recursive: true });
  await mkdir(join(root, 'etc/matryoshka'), { recursive: true });
  await writeFile(join(root, 'etc/matryoshka/made'), 'cluster mine\n');
  // Features of the host's kernel.
  await mkdir(join(root, 'proc/sys/net/bridge'), { recursive: true });
  await writeFile(join(root, 'proc/filesystems'), 'nodev\toverlay\n');
  return root;
}

/**
 * Runs a role script there. `answers` and `modprobe` are the bash bodies of `ip` and `modprobe`; `sysctl` only prints its
 * arguments.
 */
export async function runRoleScript(
  root: string,
  {
    role,
    script,
    answers = ':',
    modprobe = ':',
    env,
  }: { role: string; script: string; answers?: string; modprobe?: string; env: Record<string, string> },
) {
  const read = (path: string) => readFile(join(ansible, path), 'utf8');
  const text = `${await read('files/prelude.sh')}\nROLE=${role}\nip() { ${answers}\n}\n`;
  const own = `sysctl() { echo "sysctl $*"; }; modprobe() { ${modprobe}; }; sync() { :; }\n`;
  return execa('/bin/bash', ['--norc', '-s'], {
    input: `main() {\n${text}${own}${await read(`roles/${role}/files/${script}`)}\n}\nmain </dev/null\n`,
    env: { MATRYOSHKA_ROOT: root, ...env },
    reject: false,
  });
}
