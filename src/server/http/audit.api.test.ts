import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fields, Logger } from '#base/log.ts';
import { eventually } from '#base/testing/eventually.ts';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
const lines: Fields[] = [];
const nothing = (): void => {};
const log: Logger = {
  debug: nothing,
  warn: nothing,
  error: nothing,
  info: (fields, message) => void (message === 'audit' && lines.push(fields)),
  child: () => log,
};
beforeAll(async () => {
  world = await restWorld(log);
});
afterAll(() => world.stop());

const { key, alice, path, create } = asksOfAlice(() => world);
/** Returns the line of an answer, by the id in the answer. */
const lineOf = ({ headers }: { headers: Record<string, unknown> }) =>
  lines.filter(({ request }) => request === headers['x-request-id']);

it('logs user, action and object of each request in one line', async () => {
  const { namespace } = world;
  const user = `system:serviceaccount:${namespace}:alice`;
  const object = { kind: 'KubernetesCluster', namespace, name: 'told' };
  expect(lineOf(await create('told'))).toEqual([
    expect.objectContaining({ user, verb: 'createCluster', ...object, status: 200 }),
  ]);
  const kubeconfig = await world.call(alice(), 'GET', path('told', '/kubeconfig'));
  expect(lineOf(kubeconfig)).toEqual([
    expect.objectContaining({ user, verb: 'getKubeconfig', ...object, status: 409 }),
  ]);
  const denied = await world.call(world.tokens.mallory, 'GET', path('told', '/kubeconfig'));
  expect(lineOf(denied)).toEqual([
    expect.objectContaining({ user: user.replace('alice', 'mallory'), verb: 'getKubeconfig', status: 403 }),
  ]);
  const unknown = await world.call('junk', 'DELETE', path('told'));
  expect(lineOf(unknown)).toEqual([
    expect.objectContaining({ verb: 'deleteCluster', ...object, status: 401 }),
  ]);
  expect(JSON.stringify(lines)).not.toContain(key.slice(50, 90));
});

it('logs the namespace that the handler uses, even if the body leaves it empty', async () => {
  for (const namespace of ['', null]) {
    const answer = await world.call(alice(), 'DELETE', path('missing'), { namespace });
    expect(lineOf(answer)).toEqual([
      expect.objectContaining({ verb: 'deleteCluster', namespace: world.namespace, status: 404 }),
    ]);
  }
  const refused = await world.call('junk', 'DELETE', path('missing'), { namespace: '' });
  expect(lineOf(refused)).toEqual([expect.objectContaining({ namespace: world.namespace, status: 401 })]);
});

it('writes no control or format characters of a request', async () => {
  const name = `a%1b%5b31m%e2%80%ae${'b'.repeat(300)}`;
  const [line] = lineOf(await world.call(alice(), 'GET', `/region/north/cluster/${name}`));
  expect(line).toMatchObject({ name: `a[31m${'b'.repeat(248)}`, status: 422 });
});

it('serves 64 parallel requests of one user, and 70 in sequence', async () => {
  const probe = () => world.call(alice(), 'GET', path('told'));
  const statuses = (await Promise.all(Array.from({ length: 100 }, probe))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(64);
  expect(statuses.filter((status) => status === 429)).toHaveLength(36);
  for (let asked = 0; asked < 70; asked += 1) expect((await probe()).status).toBe(200);
});

it('releases the requests of clients that disconnect during the token review', async () => {
  const { port } = new URL(await world.app.listen({ host: '127.0.0.1', port: 0 }));
  const token = await world.tokenOf(world.namespace, 'alice');
  const before = lines.length;
  const leave = ({ socket }: IncomingMessage) => socket.destroy();
  world.app.server.on('request', leave);
  for (let made = 0; made < 64; made += 1) {
    const client = connect(Number(port), '127.0.0.1').on('error', () => {});
    client.write(
      `GET /api/v1${path('told')} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
  }
  await eventually(async () => lines.length >= before + 64 || undefined);
  world.app.server.off('request', leave);
  const probe = () => world.call(alice(), 'GET', path('told'));
  const statuses = (await Promise.all(Array.from({ length: 64 }, probe))).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

// Last: it uses up what the address of these tests may ask with tokens that are not known yet.
it('returns 429 for too many invalid tokens of an address, but serves valid ones', async () => {
  expect((await world.call(alice(), 'GET', path('told'))).status).toBe(200);
  const flood = await Promise.all(
    Array.from({ length: 300 }, (_, made) => world.call(`junk-${made}`, 'GET', path('told'))),
  );
  const refused = flood.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(100);
  expect(refused[0]?.headers['retry-after']).toBe('5');
  expect(refused.flatMap(lineOf)).toEqual([]);
  expect((await world.call(alice(), 'GET', path('told'))).status).toBe(200);
});
