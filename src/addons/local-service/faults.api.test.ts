import { afterAll, beforeAll, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { NODES, type Node, PODS, type Pod, SERVICES, type Service } from '#api/core.ts';
import type { Client } from '#runtime/client/client.ts';
import { useAddon } from '../testing/addon-world.fixture.ts';
import { beginLife, FATES, type Fate, type Lived, livesThat } from '../testing/every-write.fixture.ts';
import { within } from '../testing/seeing.fixture.ts';
import { localService } from './addon.ts';
import { LOCAL_SERVICES, type LocalService, type LocalServiceSpec, RACK_LABEL } from './api.ts';

/**
 * Runs a scenario in which the controller dies before or after each of its writes, or in which the answer to each is lost. A
 * new controller takes over, and the end is always the same.
 */
const LIFE = 'life';
const test = useAddon({ ...localService, module: () => [] });
const nodes = new Set<string>();
let client: Client;

beforeAll(async () => {
  client = await test.clientAs('matryoshka-localservice');
});
afterAll(async () => {
  await client.close();
  for (const name of nodes) await test.client.delete(NODES, { namespace: '', name }).catch(() => {});
});

const until = (probe: () => Promise<unknown>) => expect.poll(probe, { timeout: 60_000, interval: 30 });
const servicesOf = async (owner?: string): Promise<Service[]> => {
  const labelSelector = owner === undefined ? {} : { labelSelector: `owner=${owner}` };
  return (await test.client.list<Service>(SERVICES, { namespace: test.namespace, ...labelSelector })).items;
};

async function live(name: string, fate?: Fate): Promise<Lived> {
  const key = test.key(name);
  const [a, b] = [`${test.namespace}-${name}-a`, `${test.namespace}-${name}-b`];
  for (const node of [a, b]) {
    nodes.add(node);
    await test.client.create<Node>(NODES, { metadata: { name: node, labels: { [LIFE]: name } } });
  }
  const pod = (app: string, nodeName: string): Pod & { spec: object } => ({
    metadata: { ...test.key(`${name}-${app}`), labels: { app, [LIFE]: name } },
    spec: {
      ...{ nodeName, containers: [{ name: 'c', image: 'none' }], automountServiceAccountToken: false },
    },
  });
  for (const one of [pod('one', a), pod('two', b), pod('three', b)]) await test.client.create(PODS, one);
  const racks = async () => {
    const which = { namespace: test.namespace, labelSelector: `${LIFE}=${name}` };
    const { items } = await test.client.list<Pod>(PODS, which);
    return Object.fromEntries(
      items.map(({ metadata: { labels = {} } }) => [labels['app'], labels[RACK_LABEL]]),
    );
  };

  await using life = beginLife({
    ...{ client, namespace: test.namespace, fate },
    sight: (resource) => {
      const one = { fieldSelector: `metadata.name=${name}` };
      const its = { labelSelector: `${LIFE}=${name}` };
      const { selection = {} } = within(test.namespace)(resource);
      if (resource.plural === 'localservices') return { selection: { ...selection, ...one } };
      return { selection: { ...selection, ...(resource.plural === 'services' ? {} : its) } };
    },
    module: () => localService.module,
  });
  /** Waits until exactly the expected objects exist. */
  const holds = async (where: readonly string[], spec: object, labels: Record<string, string>) => {
    await until(async () =>
      (await servicesOf(name)).map((one) => ({ ...one.spec, name: one.metadata.name })),
    ).toEqual(where.map((node) => expect.objectContaining({ ...spec, name: `${name}-${node}` })));
    await until(racks).toEqual({ one: undefined, two: undefined, three: undefined, ...labels });
    await until(async () => {
      const { metadata, status } = await test.client.get<LocalService>(LOCAL_SERVICES, key);
      const isNew = status?.observedGeneration === metadata.generation;
      return [isNew, status?.nodes, status?.services, findCondition(status?.conditions, 'Ready')?.status];
    }).toEqual([true, where.length, where.length, 'True']);
  };
  const change = (spec: Partial<LocalServiceSpec>) =>
    test.client.patch<LocalService>(LOCAL_SERVICES, key, { spec }, { type: 'merge' });

  const spec = { nodeSelector: { [LIFE]: name }, selector: { app: 'one' }, ports: [{ port: 8080 }] };
  const { uid } = (await test.client.create<LocalService>(LOCAL_SERVICES, { metadata: key, spec })).metadata;
  const at = (port: number) => ({ ports: [expect.objectContaining({ port })] });
  await holds([a, b], at(8080), { one: a });
  await change({ ports: [{ port: 9090 }], clusterIP: 'None' });
  await holds([a, b], { ...at(9090), clusterIP: 'None' }, { one: a });
  await change({ selector: { app: 'two' } });
  await holds([a, b], { selector: expect.objectContaining({ app: 'two' }) }, { one: a, two: b });
  await test.client.delete(NODES, { namespace: '', name: b });
  await holds([a], { selector: { app: 'two', [RACK_LABEL]: a } }, { one: a, two: b });

  const reported = (await life.writesAtRest()).map((one) => `${one} though nothing was to be done`);
  for (const { metadata } of await servicesOf(name))
    if (metadata.ownerReferences?.find(({ controller }) => controller)?.uid !== uid)
      reported.push(`Service ${metadata.name} would stay`);
  await test.client.delete(LOCAL_SERVICES, key);
  for (const app of ['one', 'two', 'three'])
    await test.client.delete(PODS, test.key(`${name}-${app}`), { gracePeriodSeconds: 0 });
  return { writes: life.writes, isMet: life.isMet, reported };
}

it.each(FATES)(
  'the scenario has the same end whichever write the controller %s',
  async (kind) => {
    const { met, wrong } = await livesThat(kind, live);
    expect(wrong).toEqual([]);
    // At least: two created, a pod labelled, status; two removed and created again, status; two changed, a pod labelled,
    // status; removed, status.
    expect(met).toBeGreaterThanOrEqual(15);
  },
  300_000,
);

it('no Service of any scenario is left', async () => {
  // The garbage collector discovers new kinds every 30 s.
  await expect.poll(() => servicesOf(), { timeout: 100_000 }).toEqual([]);
}, 120_000);
