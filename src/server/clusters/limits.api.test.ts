import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseLimits } from '#operations/limits.ts';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const { alice, path, host, body, create } = asksOfAlice(() => world);

it('reports limits of the site by the fields of the request, and writes nothing', async () => {
  expect((await create('first')).status).toBe(200);
  await world.created('first');
  world.limits.now = parseLimits('default: { clusters: 1, hosts: 2, networks: [10.9.0.0/16] }');
  const before = await world.written();
  const outside = { nodeList: [{ ip: '192.0.2.1' }], timeoutMins: '999999' };
  expect(await create('second', outside)).toMatchObject({
    status: 422,
    body: {
      errors: [
        { field: 'nodeList[0].ip', value: '192.0.2.1' },
        { field: 'timeoutMins', value: '999999' },
        { field: 'name', value: 'second' },
        { reason: expect.stringContaining('would have 3, and it may have 2') },
      ],
    },
  });
  const more = { nodeList: [host(2), host(3)] };
  const up = await world.call(alice(), 'POST', path('first', '/scaleup'), more);
  expect(up).toMatchObject({ status: 422, text: expect.stringContaining('would have 3, and it may have 2') });
  const planned = await world.call(alice(), 'POST', `${path('first', '/scaleup')}&dryRun=All`, more);
  expect(planned).toMatchObject({
    status: 200,
    body: { plan: { refusals: [{ reason: expect.stringContaining('may have 2') }] } },
  });
  expect(await world.written()).toEqual(before);
  world.limits.now = parseLimits('[]');
  expect(await create('third', body())).toMatchObject({
    status: 422,
    text: expect.stringContaining('an administrator must correct it'),
  });
});
