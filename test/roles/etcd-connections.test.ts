import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostFolder, runRoleScript } from './role-script.fixture.ts';

/** Tests the time after which a host drops a connection whose peer does not answer. */
let root = '';
const setting = () => join(root, 'proc/sys/net/ipv4/tcp_retries2');
beforeEach(async () => {
  root = await hostFolder();
  await mkdir(join(setting(), '..'), { recursive: true });
  await writeFile(setting(), '15\n');
});
afterEach(() => rm(root, { recursive: true }));

async function prepared(env: Record<string, string>) {
  const options = {
    role: 'host',
    script: 'host.sh',
    env: { CLUSTER_ID: 'mine', POD_CIDR: '10.244.0.0/16', ...env },
  };
  const { exitCode, stdout } = await runRoleScript(root, options);
  expect(exitCode).toBe(0);
  const made = (await readFile(join(root, 'etc/matryoshka/made'), 'utf8')).split('\n');
  return {
    set: stdout.split('\n').filter((line) => line.includes('tcp_retries2')),
    made: made.filter((line) => /tcp_retries2|99-matryoshka-etcd/.test(line)),
  };
}

it('lowers tcp_retries2 where etcd may run, persists it, and records the previous value', async () => {
  expect(await prepared({ CARRIES_ETCD: 'yes' })).toEqual({
    set: ['sysctl -q net.ipv4.tcp_retries2=5'],
    made: ['host sysctl net.ipv4.tcp_retries2=15', 'host file /etc/sysctl.d/99-matryoshka-etcd.conf'],
  });
  expect(await readFile(join(root, 'etc/sysctl.d/99-matryoshka-etcd.conf'), 'utf8')).toBe(
    'net.ipv4.tcp_retries2 = 5\n',
  );
});

it('leaves tcp_retries2 unchanged on a worker, and if it is lower already', async () => {
  expect(await prepared({ CARRIES_ETCD: '' })).toEqual({ set: [], made: [] });
  await writeFile(setting(), '3\n');
  expect(await prepared({ CARRIES_ETCD: 'yes' })).toEqual({ set: [], made: [] });
});
