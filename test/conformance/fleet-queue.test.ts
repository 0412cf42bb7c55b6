import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { SECRETS, type Secret } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

/** Five clusters in two namespaces, with at most two operations at once. */
const MOST = 2;
let operator: TestOperator;
let label: string;
let other: string;
/** Runs that have started and not ended, by the cluster's address, each with a function that ends it. */
let running: Map<string, () => void>;
let peak: number;
const last = { a1: 1, a2: 2, a3: 3, a4: 4, b1: 5, b2: 6 };
type Name = keyof typeof last;
const ipOf = (name: Name): string => `10.249.0.${last[name]}`;
const keyOf = (name: Name) => ({ namespace: name.startsWith('a') ? operator.namespace : other, name });

beforeEach(async () => {
  running = new Map();
  peak = 0;
  label = `fleet-${randomUUID().slice(0, 8)}`;
  operator = await startOperator(
    inject('kubeconfigPath'),
    (_job, [ip = '']) =>
      new Promise<Ending>((resolve) => {
        running.set(ip, () => {
          running.delete(ip);
          resolve({ kind: 'report', success: true, kubeconfig: KUBECONFIG });
        });
        peak = Math.max(peak, running.size);
      }),
    { maxOperations: MOST, label },
  );
  other = `${operator.namespace}-b`;
  await operator.client.create(NAMESPACES, { metadata: { name: other } });
  const keys = await operator.client.get<Secret>(SECRETS, { namespace: operator.namespace, name: 'keys' });
  const { data = {} } = keys;
  await operator.client.create<Secret>(SECRETS, { metadata: { namespace: other, name: 'keys' }, data });
});
afterEach(() => operator.stop());

async function ask(name: Name): Promise<void> {
  await operator.client.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    metadata: {
      ...keyOf(name),
      labels: { [label]: 'true' },
      annotations: { [annotations.operation]: 'creating' },
    },
    spec: { cluster: { masterList: [{ ip: ipOf(name) }], credentialsSecret: 'keys' } },
  });
}
const get = (name: Name) => operator.client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(name));
const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 30_000 });
const saysOf = async (name: Name) => {
  const reconciling = findCondition((await get(name))?.status?.conditions, 'Reconciling');
  return reconciling?.reason === 'Queued' ? reconciling.message.split(';')[0] : reconciling?.reason;
};
const runs = () => eventually(() => [...running.keys()].sort());
const end = (name: Name) => running.get(ipOf(name))?.();
const resultOf = async (name: Name) => (await get(name))?.status?.operation?.result;

it('the fleet queue runs two operations at once, fairly by namespace, through a restart', async () => {
  await ask('a1');
  await ask('a2');
  await runs().toEqual([ipOf('a1'), ipOf('a2')]);
  await ask('a3');
  await eventually(() => saysOf('a3')).toBe('is the next to begin');
  await ask('b1');
  await eventually(() => saysOf('b1')).toBe('is the next to begin');
  await ask('b2');
  // No operation of this namespace runs. After b1 has started, both namespaces have one each.
  await eventually(() => saysOf('b2')).toBe('waits for 1 operation before it');
  await eventually(() => saysOf('a3')).toBe('waits for 2 operations before it');
  expect((await get('a3'))?.status).toMatchObject({
    summary: 'creating: waits for 2 operations before it',
    operation: { step: 'starting' },
  });
  const { items } = await operator.client.list<HostRecord>(HOSTS, { namespace: operator.operatorNamespace });
  expect(items.map(({ spec }) => spec.ip).sort()).toEqual([ipOf('a1'), ipOf('a2')]);

  await operator.restart();
  end('a1');
  await runs().toEqual([ipOf('a2'), ipOf('b1')]);
  await eventually(() => saysOf('a3')).toBe('is the next to begin');

  // An operation that waits and holds no hosts can be cancelled at once, and its cluster deleted.
  await ask('a4');
  await eventually(() => saysOf('a4')).toBe('waits for 2 operations before it');
  const id = (await get('a4'))?.status?.operation?.id ?? '';
  const cancel = { metadata: { annotations: { [annotations.cancel]: id } } };
  await operator.client.patch(KUBERNETES_CLUSTERS, keyOf('a4'), cancel, { type: 'merge' });
  await eventually(() => resultOf('a4')).toBe('cancelled');
  await operator.client.delete(KUBERNETES_CLUSTERS, keyOf('a4'));
  await eventually(() => get('a4')).toBeUndefined();

  end('a2');
  await runs().toEqual([ipOf('a3'), ipOf('b1')]);
  end('b1');
  await runs().toEqual([ipOf('a3'), ipOf('b2')]);
  end('a3');
  end('b2');
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2'] as const)
    await eventually(() => resultOf(name)).toBe('finished');
  expect(operator.started).toHaveLength(5);
  expect(peak).toBe(MOST);
});

it('the fleet queue skips a paused cluster; a deletion takes the place of its creation', async () => {
  for (const name of ['a1', 'a2'] as const) await ask(name);
  await runs().toEqual([ipOf('a1'), ipOf('a2')]);
  await ask('a3');
  await eventually(() => saysOf('a3')).toBe('is the next to begin');
  await ask('a4');
  await eventually(() => saysOf('a4')).toBe('waits for 1 operation before it');
  const pause = (paused: boolean) =>
    operator.client.patch(KUBERNETES_CLUSTERS, keyOf('a3'), { spec: { paused } }, { type: 'merge' });
  await pause(true);
  await eventually(() => saysOf('a4')).toBe('is the next to begin');
  // The deletion takes the place of the creation in the queue, and frees it when it is done.
  await operator.client.delete(KUBERNETES_CLUSTERS, keyOf('a1'));
  await eventually(() => operator.started.filter((job) => job.startsWith('delete')).length).toBe(1);
  expect(operator.started).toHaveLength(3);
  end('a1');
  await eventually(() => get('a1')).toBeUndefined();
  await runs().toEqual([ipOf('a2'), ipOf('a4')]);
  await pause(false);
  end('a4');
  await runs().toEqual([ipOf('a2'), ipOf('a3')]);
});
