import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { newAccount } from '#access/testing/new-account.ts';
import { SECRETS, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { goodHost } from './testing/good-ssh-host.fixture.ts';

/** Tests `matryoshka precheck --from-cluster` on a real API server, with the rights of its caller. */
const test = useNamespace('precheck');
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'precheck-'));
  await installCrds(test.client);
});
afterAll(() => rm(folder, { recursive: true }));

const READS_CLUSTERS = {
  apiGroups: [KUBERNETES_CLUSTERS.group],
  resources: [KUBERNETES_CLUSTERS.plural],
  verbs: ['get'],
};
const READS_SECRETS = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };

/** Returns a kubeconfig of a new account with these rights. */
async function kubeconfigWith(...rules: object[]): Promise<string> {
  const token = await newAccount(test.client, test.endpoint, test.namespace, [
    { namespace: test.namespace, rules },
  ]);
  const admin = z.looseObject({}).parse(parse(await readFile(inject('kubeconfigPath'), 'utf8')));
  const path = join(folder, `kubeconfig-${rules.length}`);
  await writeFile(path, stringify({ ...admin, users: [{ name: 'admin', user: { token } }] }));
  return path;
}

async function run(kubeconfig: string, name: string) {
  const main = join(import.meta.dirname, '../main.ts');
  const args = [
    'precheck',
    '--from-cluster',
    name,
    '-n',
    test.namespace,
    '--kubeconfig',
    kubeconfig,
    '-o',
    'json',
  ];
  return execa(process.execPath, [main, ...args], { reject: false });
}

async function cluster(
  name: string,
  port: number,
  secret: Record<string, string> | undefined,
): Promise<void> {
  await test.client.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    metadata: { ...test.key(name), annotations: { [annotations.clusterId]: 'mine' } },
    spec: { cluster: { nodeList: [{ ip: '127.0.0.1', port, name: 'worker' }] } },
  });
  if (secret)
    await test.client.create(SECRETS, { metadata: test.key(`${name}-ssh`), data: secretData(secret) });
}

it('checks hosts with the key of the cluster’s Secret and the permissions of the caller', async () => {
  await using host = await goodHost('@cpus 1');
  await cluster('demo', host.target('root').port, { 'ssh-privatekey': keyPair().private });
  const { exitCode, stdout, stderr } = await run(await kubeconfigWith(READS_CLUSTERS, READS_SECRETS), 'demo');
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    hosts: [
      { ip: '127.0.0.1', name: 'worker', role: 'worker', problems: [{ check: 'cpu', severity: 'error' }] },
    ],
  });
  expect(exitCode).toBe(1);

  const without = await run(await kubeconfigWith(READS_CLUSTERS), 'demo');
  expect([without.exitCode, without.stdout]).toEqual([2, '']);
  expect(without.stderr).toMatch(/Secret \S+\/demo-ssh cannot be read: .*forbidden/i);
});

it('counts a host with an owner file of the cluster as present, without resource checks', async () => {
  await using host = await goodHost(
    '@cpus 1',
    '@owner {"clusterId":"mine"}',
    '@joined mine worker 127.0.0.1',
    '@port 10250',
  );
  await cluster('made', host.target('root').port, { 'ssh-privatekey': keyPair().private });
  const { exitCode, stdout } = await run(inject('kubeconfigPath'), 'made');
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, hosts: [{ role: 'present', problems: [] }] });
  expect(exitCode).toBe(0);
});

it('reads the Secret as the operator does: trims newlines, and decodes base64', async () => {
  await using host = await goodHost();
  const key = Buffer.from(keyPair().private).toString('base64');
  await cluster('encoded', host.target('root').port, { username: 'root\n', 'ssh-privatekey': key });
  const { exitCode, stdout } = await run(inject('kubeconfigPath'), 'encoded');
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, hosts: [{ problems: [] }] });
  expect(exitCode).toBe(0);
});

it('reports a missing cluster, a missing Secret, and a missing key', async () => {
  await cluster('keyless', 22, { username: 'ops' });
  await cluster('bare', 22, undefined);
  for (const [name, message] of [
    ['none', /KubernetesCluster \S+\/none is not there/],
    ['keyless', /Secret \S+\/keyless-ssh has neither ssh-privatekey nor password/],
    ['bare', /Secret \S+\/bare-ssh, which has the SSH key of the hosts, is not there/],
  ] as const)
    expect(await run(inject('kubeconfigPath'), name)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(message),
    });
});
