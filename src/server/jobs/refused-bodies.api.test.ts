import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SECRETS } from '#api/core.ts';
import { reportSecretName } from '#api/names.ts';
import type { Attempt } from '../testing/attempt.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
let attempt: Attempt;
let token: string;
beforeAll(async () => {
  world = await restWorld();
  attempt = await world.attempt('create-bounds-1', 'demo');
  token = await attempt.token();
});
afterAll(() => world.stop());

const CALLBACK = '/region/default/cluster/demo/create/callback';
const MIB = 1024 * 1024;

it.each([
  ['POST', '/api/v1/jobs/create-bounds-1/log?offset=0'],
  ['POST', `/api/v1${CALLBACK}`],
  ['POST', '/api/v1/region/default/cluster/demo'],
])('refuses an unauthenticated client before it reads the body: %s %s', async (method, path) => {
  const url = new URL(await listening());
  const socket = connect(Number(url.port), url.hostname);
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: matryoshka',
    'content-type: application/json',
    `content-length: ${MIB}`,
  ];
  // The body never comes: an answer shows that the server does not wait for it.
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const [answer] = await new Promise<Buffer[]>((resolve, reject) => {
    socket.once('data', (data: Buffer) => resolve([data]));
    socket.once('error', reject);
  });
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
  // The server does not read the rest of the body later either.
  expect(String(answer)).toMatch(/^connection: close\r$/im);
});

let url: Promise<string> | undefined;
function listening(): Promise<string> {
  url ??= world.app.listen({ host: '127.0.0.1', port: 0 });
  return url;
}

const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`v${n}`, '1']));
const hostsOf = (count: number, more: object) =>
  Array.from({ length: count }, (_, n) => ({ ip: `10.0.${n >> 8}.${n & 255}`, ok: true, ...more }));

it.each<[string, object, number, RegExp]>([
  [
    'did of 400,000 entries',
    { hosts: [{ ip: '10.9.0.1', ok: true, did: Array(400_000).fill(1) }] },
    413,
    /more than 50000 values/,
  ],
  [
    'did of 1,000 entries',
    { hosts: hostsOf(1, { did: Array(1000).fill('joined') }) },
    422,
    /hosts\[0\]\.did/,
  ],
  ['4,000 wrong hosts', { hosts: hostsOf(4000, { did: ['x', 'y'] }) }, 422, /; and 7950 more problems$/],
  ['a list of 6,000 hosts', { hosts: hostsOf(6000, {}) }, 422, /^hosts /],
  ['a record of 1,001 versions', { hosts: hostsOf(1, { versions: fields(1001) }) }, 413, /1000 fields/],
  ['a record of 60 versions', { hosts: hostsOf(1, { versions: fields(60) }) }, 422, /more than 50 entries/],
])('limits a report with %s, and the length of the error', async (_what, more, status, message) => {
  const body = { name: 'demo', namespace: world.namespace, success: true, ...more };
  const answer = await world.call(token, 'POST', CALLBACK, body);
  expect([answer.status, answer.body]).toEqual([
    status,
    expect.objectContaining({ message: expect.stringMatching(message) }),
  ]);
  expect(answer.text.length).toBeLessThan(16_384);
  const key = { namespace: world.reportsNamespace, name: reportSecretName(attempt.job) };
  expect(await world.admin.find(SECRETS, key)).toBeUndefined();
});

it('limits the length of the error for invalid input', async () => {
  const nodeList = Array.from({ length: 1000 }, () => ({ ip: 'nowhere', user: 'x y'.repeat(100) }));
  const asked = { masterList: [{ ip: '10.9.0.1' }], nodeList, credentialsSecret: 'keys' };
  const path = `/region/default/cluster/wrong?namespace=${world.namespace}`;
  const answer = await world.call(world.tokens.alice, 'POST', path, asked);
  expect(answer.status).toBe(422);
  expect(answer.text.length).toBeLessThan(32_768);
  expect(answer.body).toMatchObject({ message: expect.stringMatching(/more problems$/) });
});
