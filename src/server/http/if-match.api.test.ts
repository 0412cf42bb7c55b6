import { afterAll, beforeAll, expect, it } from 'vitest';
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

it('writes nothing for a version of the cluster that is no longer there', async () => {
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
