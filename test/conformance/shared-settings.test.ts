import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SECRETS, secretData } from '#api/core.ts';
import { type ApiServer, startApiServer } from '#lab/apiserver/start.ts';
import { createStateDir } from '#lab/apiserver/state-dir.ts';
import { clientOf } from '#lab/meta/cluster.ts';

/** What the role of control planes makes for API servers, read by a real one. */
const ansible = join(import.meta.dirname, '../../ansible');
let dir = '';
let server: ApiServer;
const shared = (name: string) => join(dir, 'host/etc/kubernetes/pki/matryoshka', name);

async function makeShared(variables: Record<string, string>): Promise<void> {
  await mkdir(join(dir, 'host'), { recursive: true });
  const read = (path: string) => readFile(join(ansible, path), 'utf8');
  const script = [
    await read('files/prelude.sh'),
    await read('roles/control-plane/files/shared.sh'),
    'umask 077; make_shared',
  ].join('\n');
  const env = { MATRYOSHKA_ROOT: join(dir, 'host'), ...variables };
  await execa('/bin/bash', ['-s'], { input: `main() {\n${script}\n}\nmain </dev/null\n`, env });
}

beforeAll(async () => {
  dir = await createStateDir();
  await makeShared({ MADE_WITH: 'these', ENCRYPTION_AT_REST: 'yes' });
  const flags = [`--encryption-provider-config=${shared('encryption.yaml')}`];
  server = await startApiServer({ dir: join(dir, 'server'), flags });
});
afterAll(async () => {
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Everything that etcd has written. */
async function stored(): Promise<Buffer> {
  const folder = join(dir, 'server/etcd/member/wal');
  return Buffer.concat(
    await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name)))),
  );
}

it('encrypts Secrets in etcd, and nobody but root may read the key', async () => {
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
