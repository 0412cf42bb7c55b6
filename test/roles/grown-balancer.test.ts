import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostFolder, runRoleScript } from './role-script.fixture.ts';

/** Open connections when a worker gets a balancer, as ss lists them. */
const OPEN = `0 0 10.88.0.16:40001 10.88.0.13:6443 users:(("kubelet",pid=7,fd=9))
0 0 10.88.0.16:40002 10.88.0.13:6443 users:(("kube-proxy",pid=8,fd=9))
0 0 [fd00::16]:40003 [fd00::13]:6443 users:(("flanneld",pid=9,fd=9))
0 0 127.0.0.1:40004 127.0.0.1:6443 users:(("kubelet",pid=7,fd=8))
0 0 [::1]:40007 [::1]:6443 users:(("kubelet",pid=7,fd=7))
0 0 10.88.0.16:40005 10.88.0.13:6443 users:(("haproxy",pid=10,fd=9))
0 0 10.88.0.16:40006 10.88.0.13:6443 users:(("curl",pid=11,fd=9))`;

let root = '';
beforeEach(async () => {
  root = await hostFolder();
  await mkdir(join(root, 'bin'));
});
afterEach(() => rm(root, { recursive: true }));

async function letGo(ends: boolean) {
  const ss = `#!/bin/sh\n[ "$1" = -K ] || { cat ${root}/open; exit; }\necho "$*" >> ${root}/closed; ${ends}\n`;
  await writeFile(join(root, 'open'), `${OPEN}\n`);
  await writeFile(join(root, 'bin/ss'), ss, { mode: 0o755 });
  const env = { PATH: `${root}/bin:${process.env['PATH']}` };
  const { exitCode, stdout } = await runRoleScript(root, { role: 'balancer', script: 'let-go.sh', env });
  expect(exitCode).toBe(0);
  const closed = (await readFile(join(root, 'closed'), 'utf8')).trim().split('\n');
  return { closed, said: stdout.split('\n').filter((line) => line.startsWith('changed: ')) };
}

it('closes connections of cluster programs to the previous control plane, and no others', async () => {
  const { closed, said } = await letGo(true);
  expect(closed).toEqual([
    '-K state established src 10.88.0.16:40001 dst 10.88.0.13:6443',
    '-K state established src 10.88.0.16:40002 dst 10.88.0.13:6443',
    '-K state established src [fd00::16]:40003 dst [fd00::13]:6443',
  ]);
  expect(said).toHaveLength(3);
});

it('continues if the kernel closes no connections', async () => {
  const { said } = await letGo(false);
  expect(said).toEqual([]);
});
