import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostFolder, runRoleScript } from './role-script.fixture.ts';

let root = '';
beforeEach(async () => {
  root = await hostFolder();
});
afterEach(() => rm(root, { recursive: true }));

const host = (modprobe: string) =>
  runRoleScript(root, {
    role: 'host',
    script: 'host.sh',
    modprobe,
    env: { CLUSTER_ID: 'mine', POD_CIDR: '10.244.0.0/16', CARRIES_ETCD: '' },
  });

it('reports the error of modprobe if the kernel cannot load a module', async () => {
  await rm(join(root, 'proc/sys/net/bridge'), { recursive: true });
  const fatal = 'modprobe: FATAL: Module br_netfilter not found in directory /lib/modules/6.1.0-13-amd64';
  expect(await host(`echo '${fatal}' >&2; return 1`)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /^the kernel module br_netfilter cannot be loaded: Module br_netfilter not found in directory .*; restart the host/,
    ),
  });
});

it('loads a missing module, and none that the kernel has', async () => {
  await writeFile(join(root, 'proc/filesystems'), 'nodev\tproc\n');
  const { exitCode } = await host(`echo "$1" >> "$R/asked"; echo 'nodev overlay' >> "$R/proc/filesystems"`);
  expect(exitCode).toBe(0);
  expect((await host('exit 9')).exitCode).toBe(0);
  expect(await readFile(join(root, 'asked'), 'utf8')).toBe('overlay\n');
});
