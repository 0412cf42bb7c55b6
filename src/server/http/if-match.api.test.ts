import { afterAll, beforeAll, expect, it } from 'vitest';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { Client } from '#runtime/client/client.ts';
import { restApp } from '../app.ts';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const { alice, path, host, body, create } = asksOfAlice(() => world);
const tagOf = async (name: string) =>
  String((await world.call(alice(), 'GET', path(name))).headers['etag'] ?? 'none');

it('returns 412 for an old version of the cluster, and writes nothing', async () => {
  expect((await create('tagged')).status).toBe(200);
  const old = await tagOf('tagged');
  await world.created('tagged');
  const before = await world.written();
  const more = { nodeList: [host(2), host(3)] };
  for (const [method, route, given] of [
    ['POST', '/scaleup', more],
    ['POST', '/pause', {}],
    ['POST', '', body({ retry: true })],
    ['DELETE', '', undefined],
  ] as const)
    expect([
      method,
      route,
      (await world.call(alice(), method, path('tagged', route), given, { 'if-match': old })).status,
    ]).toEqual([method, route, 412]);
  const unborn = await world.call(alice(), 'POST', path('unborn'), body(), { 'if-match': '*' });
  expect(unborn.status).toBe(412);
  expect(await world.written()).toEqual(before);
  const present = { 'if-match': `"x", ${await tagOf('tagged')}` };
  expect((await world.call(alice(), 'POST', path('tagged', '/scaleup'), more, present)).status).toBe(200);
  const any = { 'if-match': '*' };
  expect((await world.call(alice(), 'POST', path('tagged', '/pause'), {}, any)).status).toBe(200);
});

it.each([
  ['POST', '/pause', 'find'],
  ['POST', '/cancel', 'find'],
  ['DELETE', '', 'find'],
  ['DELETE', '', 'patch'],
] as const)('returns 412 for an edit after the check: %s …%s, after its %s', async (method, route, call) => {
  const name = `raced-${method}-${route.slice(1)}${call}`.toLowerCase();
  expect((await create(name)).status).toBe(200);
  const key = { namespace: world.namespace, name };
  const status = { phase: 'Creating', operation: runningOperation({ id: 'bcdfghjklm' }) };
  await world.admin.patch(KUBERNETES_CLUSTERS, key, { status }, { type: 'merge', subresource: 'status' });
  let edits = 1;
  const edit = async () => {
    if (edits === 0) return;
    edits -= 1;
    const change = { metadata: { labels: { edited: 'true' } } };
    await world.admin.patch(KUBERNETES_CLUSTERS, key, change, { type: 'merge' });
  };
  const client: Client = {
    ...world.client,
    async find<T extends KubeObject>(...[resource, ...rest]: Parameters<Client['find']>) {
      const found = await world.client.find<T>(resource, ...rest);
      if (call === 'find' && resource === KUBERNETES_CLUSTERS) await edit();
      return found;
    },
    async patch<T extends KubeObject>(...asked: Parameters<Client['patch']>) {
      const written = await world.client.patch<T>(...asked);
      if (call === 'patch') await edit();
      return written;
    },
  };
  const app = await restApp({
    ...{ client, tokenClient: world.client, jobClient: world.client, clock: systemClock },
    ...{ log: createLogger('error'), namespace: world.operatorNamespace, runnerServiceAccount: 'runner' },
    ...{
      reportsNamespace: world.reportsNamespace,
      limits: () => world.limits.now,
      audiences: ['matryoshka'],
    },
    offer: { versions: ['v1.34.4'], hooks: true },
  });
  const headers = { authorization: `Bearer ${alice()}`, 'if-match': await tagOf(name) };
  const answer = await app.inject({ method, url: `/api/v1${path(name, route)}`, headers });
  await app.close();
  expect(answer.statusCode).toBe(412);
  const left = await world.cluster(name);
  expect(left?.metadata.labels).toMatchObject({ edited: 'true' });
  expect(left?.metadata.deletionTimestamp).toBeUndefined();
  expect(left?.spec.paused ?? false).toBe(false);
  const annotationsLeft = left?.metadata.annotations ?? {};
  expect([annotationsLeft[annotations.cancel], annotationsLeft[annotations.deletedBy]]).toEqual([
    undefined,
    undefined,
  ]);
});
