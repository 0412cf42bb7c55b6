import { expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap, SECRETS } from '#api/core.ts';
import { clientOver } from '../client/client.ts';
import { quietHost } from '../testing/quiet-host.fixture.ts';
import { createScriptedCaller } from '../testing/scripted-caller.ts';
import type { ControllerModule } from './controller-host.ts';

const hostOfNothing = () => quietHost({ client: clientOver(createScriptedCaller()), namespace: 'system' });
const selection = { namespace: 'system', labelSelector: 'a=b' };
const byName = ({ metadata: { name = '' } }: ConfigMap) => [name];

it('gives one informer to two modules that ask for the same kind and selection', () => {
  const host = hostOfNothing();
  const asking =
    (kind: typeof SECRETS): ControllerModule =>
    ({ informer }) => {
      informer(kind, { selection: { ...selection } });
      return [];
    };
  for (const kind of [SECRETS, SECRETS, CONFIG_MAPS]) asking(kind)(host);
  host.informer(SECRETS, { selection: { ...selection, namespace: 'another' } });
  expect(
    host.informers.map(({ resource, selection: { namespace } }) => `${namespace}/${resource.plural}`),
  ).toEqual(['system/secrets', 'system/configmaps', 'another/secrets']);
});

it('shares an informer for fewer options, and refuses options that it lacks', () => {
  const host = hostOfNothing();
  const keep = (map: ConfigMap) => map;
  const first = host.informer<ConfigMap>(CONFIG_MAPS, { transform: keep, indexers: { name: byName } });
  expect(host.informer<ConfigMap>(CONFIG_MAPS)).toBe(first);
  expect(host.informer<ConfigMap>(CONFIG_MAPS, { transform: keep, indexers: { name: byName } })).toBe(first);
  expect(() => host.informer<ConfigMap>(CONFIG_MAPS, { transform: (map) => map })).toThrow(
    'another transform',
  );
  expect(() => host.informer<ConfigMap>(CONFIG_MAPS, { resyncMs: 1 })).toThrow('another resyncMs');
  expect(() => host.informer<ConfigMap>(CONFIG_MAPS, { indexers: { other: byName } })).toThrow(
    'index "other"',
  );
  expect(host.informers).toHaveLength(1);
});
