import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostFolder, runRoleScript } from './role-script.fixture.ts';

let root = '';
beforeEach(async () => {
  root = await hostFolder();
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Runs the script with this output of kubectl. */
async function version(kubectl: string) {
  const bin = join(root, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'kubectl'), `#!/bin/sh\n${kubectl}\n`);
  await chmod(join(bin, 'kubectl'), 0o755);
  const env = { KUBE_VERSION: 'v1.34.4', PATH: `${bin}:${process.env['PATH']}` };
  return runRoleScript(root, { role: 'repair', script: 'version.sh', env });
}
const saying = (line: string) => `printf 'apiServer: {}\\n${line}\\nnetworking: {}\\n'`;

it.each([
  ['it is as it was made', saying('kubernetesVersion: v1.34.4')],
  ['its version is quoted', saying('kubernetesVersion: "v1.34.4"')],
  ['it does not say', saying('clusterName: demo')],
  ['no API server answers', 'exit 1'],
])('repairs a cluster if %s', async (_why, kubectl) => {
  expect((await version(kubectl)).exitCode).toBe(0);
});

it('refuses to repair a cluster that a user upgraded', async () => {
  const { exitCode, stderr } = await version(saying('kubernetesVersion: v1.35.1'));
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^VersionDiffers: .* it is v1\.35\.1, and Matryoshka made it as v1\.34\.4: an upgrade is unfinished, or a user upgraded it/,
  );
});
