import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { auditSchema } from '#api/audit.ts';
import { SECRETS, secretData } from '#api/core.ts';
import { type ApiServer, startApiServer } from '#lab/apiserver/start.ts';
import { createStateDir } from '#lab/apiserver/state-dir.ts';
import { clientOf } from '#lab/meta/cluster.ts';
import { kubeadmProblems } from '#operations/validate-kubeadm.ts';
import { kubeadmVars } from '#protocol/kubeadm-vars.ts';

/** Files that the control plane role writes for API servers, read by a real one. */
const ansible = join(import.meta.dirname, '../../ansible');
/** A policy with one rule of every allowed kind. */
const POLICY = {
  omitStages: ['RequestReceived'],
  omitManagedFields: true,
  rules: [
    { level: 'None', nonResourceURLs: ['/healthz*', '/version', '*'], users: ['nobody'] },
    { level: 'Metadata', resources: [{ group: '', resources: ['secrets', '*/status', 'pods/*'] }] },
    {
      level: 'RequestResponse',
      verbs: ['create'],
      userGroups: ['system:masters'],
      namespaces: ['default', ''],
      resources: [{ group: 'apps' }, { resources: ['configmaps'], resourceNames: ['one'] }],
      omitStages: ['Panic'],
      omitManagedFields: false,
    },
    { level: 'None' },
  ],
};
let dir = '';
let server: ApiServer;
const shared = (name: string) => join(dir, 'host/etc/kubernetes/pki/matryoshka', name);

async function makeShared(variables: Record<string, string>, calls = 'make_shared'): Promise<void> {
  await mkdir(join(dir, 'host'), { recursive: true });
  const read = (path: string) => readFile(join(ansible, path), 'utf8');
  await mkdir(join(dir, 'host/etc/matryoshka'), { recursive: true });
  await writeFile(join(dir, 'host/etc/matryoshka/made'), 'cluster mine\n');
  const script = [
    await read('files/prelude.sh'),
    await read('roles/control-plane/files/shared.sh'),
    `ROLE=control-plane; umask 077; ${calls}`,
  ].join('\n');
  const env = { MATRYOSHKA_ROOT: join(dir, 'host'), ...variables };
  await execa('/bin/bash', ['--norc', '-s'], { input: `main() {\n${script}\n}\nmain </dev/null\n`, env });
}

beforeAll(async () => {
  dir = await createStateDir();
  const spec = { audit: auditSchema.parse({ policy: POLICY }) };
  expect(kubeadmProblems({ cluster: { kubeadm: spec } })).toEqual([]);
  const AUDIT_POLICY = JSON.stringify(kubeadmVars(spec)['audit_policy']);
  await makeShared({
    PATCHES: `etcd00+merge.json ${Buffer.from('{"a":1}').toString('base64')}\n`,
    MADE_WITH: 'these',
    ENCRYPTION_AT_REST: 'yes',
    AUDIT_POLICY,
  });
  const flags = [
    `--encryption-provider-config=${shared('encryption.yaml')}`,
    `--audit-policy-file=${shared('audit-policy.yaml')}`,
    `--audit-log-path=${join(dir, 'host/var/log/kubernetes/audit/audit.log')}`,
  ];
  server = await startApiServer({ dir: join(dir, 'server'), flags });
});
afterAll(async () => {
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Returns everything that etcd has written. */
async function stored(): Promise<Buffer> {
  const folder = join(dir, 'server/etcd/member/wal');
  return Buffer.concat(
    await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name)))),
  );
}

it('encrypts Secrets in etcd with a key that only root can read', async () => {
  const client = await clientOf(server.kubeconfig);
  const text = `precious-${randomUUID()}`;
  const key = { namespace: 'default', name: 'demo' };
  await client.create(SECRETS, { metadata: key, data: secretData({ text }) });
  expect(await client.get(SECRETS, key)).toMatchObject({ data: secretData({ text }) });
  await client.close();
  const bytes = await stored();
  expect(bytes.includes('/registry/secrets/default/demo')).toBe(true);
  expect(bytes.includes('k8s:enc:secretbox:v1:key1:')).toBe(true);
  expect(bytes.includes(text)).toBe(false);
  expect((await stat(shared('encryption.yaml'))).mode & 0o777).toBe(0o600);
  expect(await readFile(shared('made-with'), 'utf8')).toBe('these\n');
});

it('writes an audit log by the policy of the user, in a folder that a reset removes', async () => {
  const log = join(dir, 'host/var/log/kubernetes/audit/audit.log');
  const secrets = async () => {
    const lines = (await readFile(log, 'utf8')).trim().split('\n');
    return lines.map((line) => JSON.parse(line)).filter(({ objectRef }) => objectRef?.name === 'demo');
  };
  await expect
    .poll(secrets, { timeout: 10_000 })
    .toContainEqual(
      expect.objectContaining({ level: 'Metadata', stage: 'ResponseComplete', verb: 'create' }),
    );
  const made = await readFile(join(dir, 'host/etc/matryoshka/made'), 'utf8');
  expect(made).toContain('control-plane tree /var/log/kubernetes/audit');
});

it('writes patches under the names that kubeadm expects', async () => {
  expect(await readFile(shared('patches/etcd00+merge.json'), 'utf8')).toBe('{"a":1}');
});

it('deletes keys of an earlier attempt with other settings, and keeps those with the same', async () => {
  const key = join(dir, 'host/etc/kubernetes/pki/etcd/ca.key');
  await mkdir(join(key, '..'), { recursive: true });
  await writeFile(key, 'made before');
  await makeShared({ MADE_WITH: 'these' }, 'forget_other_keys');
  expect(await readFile(key, 'utf8')).toBe('made before');
  await makeShared({ MADE_WITH: 'others' }, 'forget_other_keys');
  expect(await readdir(join(dir, 'host/etc/kubernetes/pki'))).toEqual([]);
});
