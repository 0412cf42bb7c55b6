import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createLogger } from '#base/log.ts';
import { createAuthority } from '#lab/apiserver/certificates.ts';
import { createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { CONFIG_MAPS, useNamespace } from '#runtime/testing/test-namespace.ts';
import { eventually, runInformers, useProxy } from './world.ts';

const test = useNamespace('rotation');
const world = useProxy(test);
const { namespace, key } = test;
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'rotation-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Writes a file as the kubelet does, so that no reader sees half of it. */
function put(name: string, text: string) {
  writeFileSync(join(directory, `${name}.new`), text);
  renameSync(join(directory, `${name}.new`), join(directory, name));
}

const token = async () => (await test.endpoint.headers())['authorization']?.replace('Bearer ', '') ?? '';

/** The same server, found in both ways, each with its CA in a file. */
const ways: [string, () => ReturnType<typeof loadEndpoint>][] = [
  [
    'a ServiceAccount',
    async () => {
      put('token', await token());
      return loadEndpoint({ directory, server: new URL(world.proxy.url).host });
    },
  ],
  [
    'a kubeconfig',
    async () => {
      const config = {
        clusters: [{ name: 'c', cluster: { server: world.proxy.url, 'certificate-authority': 'ca.crt' } }],
        users: [{ name: 'u', user: { token: await token() } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      };
      put('config', stringify(config));
      return loadEndpoint({ kubeconfig: join(directory, 'config') });
    },
  ],
];

it.each(ways)(
  'a rotated authority is read again from the file of %s, without a restart (row 26)',
  async (...way) => {
    const { proxy } = world;
    put('ca.crt', proxy.ca);
    const client = createClient(await way[1](), { userAgent: 'test' });
    await using caches = runInformers();
    const log = createLogger('silent');
    const informer = await caches.start({ client, selection: { namespace }, log, random: () => 0 });
    const list = () => client.list(CONFIG_MAPS, { namespace });
    await list();

    const next = await createAuthority();
    proxy.present(await next.issue());
    proxy.reset();
    // The server is not trusted until the file has its new CA. Each broken connection fails once.
    await expect(list()).rejects.toThrow(/certificate|signature/);
    put('ca.crt', next.pem);
    expect((await list()).metadata.resourceVersion).toBeTruthy();
    const name = `seen-by-${way[0].replaceAll(/\W+/g, '-').toLowerCase()}`;
    await test.client.create(CONFIG_MAPS, { metadata: key(name) });
    await eventually(informer, 'the watch goes on', () => informer.get(key(name)) !== undefined);
    await client.close();
  },
);

it('a 401 is repeated with new credentials on a new connection', async () => {
  const { proxy } = world;
  let presented = 'Bearer old';
  const endpoint = {
    ...world.endpoint,
    headers: () => ({ authorization: presented }),
    refresh() {
      presented = good;
    },
  };
  const good = `Bearer ${await token()}`;
  const client = createClient(endpoint, { userAgent: 'test' });
  const accepted = proxy.accepted();
  expect((await client.list(CONFIG_MAPS, { namespace })).metadata.resourceVersion).toBeTruthy();
  expect(proxy.accepted() - accepted).toBe(2);
  await client.close();
});
