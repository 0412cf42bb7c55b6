import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { HostRecord } from '#api/host-record.ts';
import type { ClusterStatus, KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Handler } from '#runtime/cache/informer.ts';
import { fleetMetrics } from './metrics.ts';

const cluster = (name: string, status: ClusterStatus, metadata: object = {}): KubernetesCluster => ({
  metadata: {
    ...{ namespace: 'default', name },
    annotations: { [annotations.applied]: JSON.stringify({ sequence: 1, spec: { cluster: {} } }) },
    ...metadata,
  },
  spec: { cluster: {} },
  status,
});
const operation = (more: Partial<OperationStatus>): OperationStatus => ({
  ...{ id: 'a', name: 'create', sequence: 1, attempt: 1, word: 'creating', requestId: '', specHash: '' },
  ...{ generation: 1, spec: { cluster: {} }, step: 'x', startedAt: '2026-11-29T10:00:00Z', ...more },
});
const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  ...{ type, status, reason, message: '' },
  lastTransitionTime: '2026-11-29T10:00:00Z',
});

/** Returns a fleet, its metrics as text, and its changes. */
function fleet(clusters: KubernetesCluster[], isLeading = true, hosts: HostRecord[] = []) {
  const registry = new Registry();
  let handler: Handler<KubernetesCluster> = {};
  fleetMetrics(registry, {
    clusters: {
      list: () => clusters,
      addHandler(given) {
        handler = given;
        return () => {};
      },
    },
    hosts: { list: () => hosts },
    isLeading: () => isLeading,
  });
  return {
    change: (before: KubernetesCluster, after: KubernetesCluster) =>
      handler.update?.(before, after, { initial: false, resync: false }),
    async lines(name: string) {
      const text = await registry.getSingleMetricAsString(name);
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    },
  };
}

it('counts clusters by phase, and operations that run or wait', async () => {
  const { lines } = fleet([
    cluster('a', { phase: 'Running' }),
    cluster('b', { phase: 'Creating', operation: operation({}) }),
    cluster('c', {
      phase: 'Running',
      operation: operation({ name: 'renew' }),
      conditions: [condition('Reconciling', 'True', 'Queued')],
    }),
    cluster('d', {}),
  ]);
  expect(await lines('matryoshka_clusters')).toEqual([
    'matryoshka_clusters{phase="Running"} 2',
    'matryoshka_clusters{phase="Creating"} 1',
    'matryoshka_clusters{phase="None"} 1',
  ]);
  expect(await lines('matryoshka_operations')).toEqual([
    'matryoshka_operations{state="running"} 1',
    'matryoshka_operations{state="queued"} 1',
  ]);
});

it('has a series for each problem, and none when it is over', async () => {
  const clusters = [
    cluster('a', {
      conditions: [
        condition('Ready', 'True', 'Healthy'),
        condition('EtcdHealthy', 'False', 'Degraded'),
        condition('UpToDate', 'False', 'Edited'),
        condition('Stalled', 'True', 'OperationFailed'),
      ],
    }),
  ];
  const { lines } = fleet(clusters);
  expect(await lines('matryoshka_cluster_problem')).toEqual([
    'matryoshka_cluster_problem{namespace="default",name="a",condition="EtcdHealthy",reason="Degraded"} 1',
    'matryoshka_cluster_problem{namespace="default",name="a",condition="Stalled",reason="OperationFailed"} 1',
  ]);
  clusters.splice(0);
  expect(await lines('matryoshka_cluster_problem')).toEqual([]);
});

it('does not count a cluster that is not created yet, or is being deleted, as a problem', async () => {
  const conditions = [condition('Ready', 'False', 'Creating')];
  const { lines } = fleet([
    cluster('young', { conditions }, { annotations: {} }),
    cluster('old', { conditions }, { deletionTimestamp: '2026-11-29T10:00:00Z' }),
  ]);
  expect(await lines('matryoshka_cluster_problem')).toEqual([]);
});

it('leaves the metrics to the replica that leads', async () => {
  const running = cluster('a', { phase: 'Running', operation: operation({}) });
  const ended = cluster('a', { operation: operation({ result: 'failed', endedAt: '2026-11-29T10:01:40Z' }) });
  const { change, lines } = fleet([running], false);
  change(running, ended);
  expect(await lines('matryoshka_clusters')).toEqual([]);
  const counts = (await lines('matryoshka_operation_duration_seconds')).filter((line) => /_count/.test(line));
  expect(counts.every((line) => line.endsWith(' 0'))).toBe(true);
});

it('reports ages of certificates and snapshots', async () => {
  const { lines } = fleet([
    cluster('a', {
      certificatesExpire: '1970-01-02T00:00:00Z',
      etcdSnapshots: { stored: [{ name: 'x', createdAt: '1970-01-03T00:00:00Z', size: 1 }] },
    }),
    cluster('b', {}),
  ]);
  expect(await lines('matryoshka_cluster_certificates_expire_timestamp_seconds')).toEqual([
    'matryoshka_cluster_certificates_expire_timestamp_seconds{namespace="default",name="a"} 86400',
  ]);
  expect(await lines('matryoshka_cluster_snapshot_timestamp_seconds')).toEqual([
    'matryoshka_cluster_snapshot_timestamp_seconds{namespace="default",name="a"} 172800',
  ]);
});

it('observes the end of an operation once', async () => {
  const { change, lines } = fleet([]);
  const running = cluster('a', { operation: operation({}) });
  const ended = cluster('a', { operation: operation({ result: 'failed', endedAt: '2026-11-29T10:01:40Z' }) });
  change(running, ended);
  change(ended, ended);
  const found = await lines('matryoshka_operation_duration_seconds');
  expect(found).toContain(
    'matryoshka_operation_duration_seconds_sum{operation="create",result="failed"} 100',
  );
  expect(found).toContain(
    'matryoshka_operation_duration_seconds_count{operation="create",result="failed"} 1',
  );
});
