import { afterAll, beforeAll, expect, it } from 'vitest';
import { CONFIG_MAPS, SECRETS, type Secret } from '#api/core.ts';
import { logHeadName, reportSecretName } from '#api/names.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

it('removes a report with the log of its attempt, so that no kubeconfig remains', async () => {
  const job = 'create-owned-1';
  const attempt = await world.attempt(job, 'demo');
  const token = await attempt.token();
  const line = `${JSON.stringify({ time: '2026-01-01T10:00:00Z', event: 'info', message: 'x' })}\n`;
  const type = { 'content-type': 'application/x-ndjson' };
  const logged = await world.call(token, 'POST', `/jobs/${job}/log?offset=0&step=hosts`, line, type);
  expect(logged.status).toBe(200);
  const report = {
    name: 'demo',
    namespace: world.namespace,
    success: true,
    message: 'done',
    kubeconfig: 'k',
  };
  const kept = await world.call(token, 'POST', '/region/default/cluster/demo/create/callback', report);
  expect(kept.status).toBe(200);
  const namespace = world.reportsNamespace;
  const key = { namespace, name: reportSecretName(job) };
  expect(await world.admin.find<Secret>(SECRETS, key)).toBeDefined();
  await world.admin.delete(CONFIG_MAPS, { namespace, name: logHeadName(job) });
  await expect.poll(() => world.admin.find(SECRETS, key), { timeout: 20_000 }).toBeUndefined();
});
