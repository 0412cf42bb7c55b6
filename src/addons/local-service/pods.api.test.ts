import pMap from 'p-map';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { PODS, type Pod } from '#api/core.ts';
import type { Client } from '#runtime/client/client.ts';
import { useAddon } from '../testing/addon-world.fixture.ts';
import { beginLife } from '../testing/every-write.fixture.ts';
import { within } from '../testing/seeing.fixture.ts';
import { localService } from './addon.ts';
import { LOCAL_SERVICES, type LocalService } from './api.ts';

/** Measures the cost of pods. `make bench-addons PARTS=localservice` does the same with 5,000. */
const COUNT = 600;
const NODES = 20;
/** Divisor: a tenth of the pods has its label already, and another tenth matches no LocalService. */
const OTHERS = 10;
const AT_ONCE = 16;
const test = useAddon({ ...localService, module: () => [] });
let client: Client;
beforeAll(async () => {
  client = await test.clientAs('matryoshka-localservice');
});
afterAll(() => client.close());

const nodeOf = (index: number): string => `node-${index % NODES}`;
const kindOf = (index: number): 'wanted' | 'labelled' | 'foreign' =>
  index % OTHERS === 0 ? 'labelled' : index % OTHERS === 1 ? 'foreign' : 'wanted';
const nameOf = (index: number): string => `pod-${index}`;
const podAt = (index: number): Pod & { spec: object } => ({
  metadata: {
    ...test.key(nameOf(index)),
    labels: {
      app: kindOf(index) === 'foreign' ? 'foreign' : 'mine',
      ...(kindOf(index) === 'labelled' ? { 'vm/rack': nodeOf(index) } : {}),
    },
  },
  spec: {
    ...{ nodeName: nodeOf(index), automountServiceAccountToken: false },
    ...{ containers: [{ name: 'c', image: 'none' }] },
  },
});
/** Returns the managedFields entries of all managers except the test. */
const entriesOf = ({ metadata }: Pod) =>
  z
    .array(z.object({ manager: z.string(), operation: z.string(), fieldsV1: z.unknown() }))
    .parse(metadata.managedFields)
    .filter(({ manager }) => manager !== 'test');
const OURS = {
  manager: 'matryoshka-localservice',
  operation: 'Apply',
  fieldsV1: { 'f:metadata': { 'f:labels': { 'f:vm/rack': {} } } },
};
const listed = async () => (await test.client.list<Pod>(PODS, { namespace: test.namespace })).items;
const versions = (pods: readonly Pod[]) =>
  Object.fromEntries(pods.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
const until = (probe: () => unknown) => expect.poll(probe, { timeout: 60_000 });
/** Selects no node, so the controller writes pods only. */
const spec: LocalService['spec'] = {
  ...{ nodeSelector: { nowhere: 'true' }, selector: { app: 'mine' }, ports: [{ port: 80 }] },
};
const make = (name: string) =>
  test.client.create<LocalService>(LOCAL_SERVICES, { metadata: test.key(name), spec });
const isChecked = async (name: string) => {
  const { metadata, status } = await test.client.get<LocalService>(LOCAL_SERVICES, test.key(name));
  return status?.observedGeneration === metadata.generation;
};

it('each selected pod gets its label by one write; other events cause no write', async () => {
  const all = Array.from({ length: COUNT }, (_, index) => index);
  await pMap(all, (index) => test.client.create<Pod>(PODS, podAt(index)), { concurrency: AT_ONCE });
  const before = versions(await listed());
  await using life = beginLife({
    ...{ client, namespace: test.namespace },
    sight: within(test.namespace),
    module: () => localService.module,
  });
  const podWrites = () => life.writes.filter((write) => write.includes('pods/'));
  const expected = all
    .filter((index) => kindOf(index) === 'wanted')
    .map((one) => `PATCH pods/${nameOf(one)}`);

  await make('one');
  const labelled = async () => (await listed()).filter(({ metadata }) => metadata.labels?.['vm/rack']).length;
  await until(labelled).toBe(expected.length + all.filter((one) => kindOf(one) === 'labelled').length);
  const pods = await listed();
  for (const pod of pods) {
    const { name = '', labels, resourceVersion } = pod.metadata;
    const kind = kindOf(Number(name.split('-')[1]));
    expect(labels?.['vm/rack']).toBe(kind === 'foreign' ? undefined : pod.spec?.nodeName);
    expect(entriesOf(pod)).toEqual(kind === 'wanted' ? [OURS] : []);
    if (kind !== 'wanted') expect(resourceVersion).toBe(before[name]);
  }

  // Events of each kind that change nothing for pods.
  const change = { spec: { ports: [{ port: 81 }] } };
  await test.client.patch(LOCAL_SERVICES, test.key('one'), change, { type: 'merge' });
  await make('two');
  for (const name of ['one', 'two']) await until(() => isChecked(name)).toBe(true);
  const noise = { metadata: { annotations: { seen: 'yes' }, labels: { tier: 'web' } } };
  await test.client.patch(PODS, test.key(nameOf(2)), noise, { type: 'merge' });
  // The event of this pod comes after all of those.
  const last = await test.client.create<Pod>(PODS, podAt(COUNT + OTHERS - 1));
  const rack = async () =>
    (await test.client.get<Pod>(PODS, test.key(last.metadata.name ?? ''))).metadata.labels;
  await until(rack).toMatchObject({ 'vm/rack': last.spec?.nodeName });
  const caughtUp = versions(await listed());
  // A process that starts checks all pods.
  expect(await life.writesAtRest()).toEqual([]);
  expect(versions(await listed())).toEqual(caughtUp);
  expect(podWrites().sort()).toEqual([...expected, `PATCH pods/${nameOf(COUNT + OTHERS - 1)}`].sort());
}, 180_000);
