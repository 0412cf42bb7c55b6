import { expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap, useNamespace } from '#runtime/testing/test-namespace.ts';
import { useProxy } from './world.ts';

const test = useNamespace('long-list');
const world = useProxy(test);

it('requests an interrupted list again, and returns each object once', async () => {
  const { namespace } = test;
  const names = Array.from({ length: 60 }, (_, at) => `long-${String(at).padStart(2, '0')}`);
  const data = { filler: '🪆'.repeat(2_000) };
  await Promise.all(
    names.map((name) => test.client.create(CONFIG_MAPS, { metadata: { namespace, name }, data })),
  );
  world.proxy.setRules(({ nth }) => (nth === 0 ? { kind: 'truncate', afterBytes: 300_000 } : undefined));

  const { items } = await world.client().list<ConfigMap>(CONFIG_MAPS, { namespace });

  const listed = items.filter(({ metadata: { name } }) => name?.startsWith('long-'));
  expect(listed.map(({ metadata }) => metadata.name)).toEqual(names);
  expect(listed.every((item) => item.kind === 'ConfigMap' && item.data?.['filler'] === data.filler)).toBe(
    true,
  );
  expect(world.proxy.requests.filter(({ path }) => path.includes('configmaps'))).toHaveLength(2);
});
