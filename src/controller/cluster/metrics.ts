import { Gauge, Histogram, type Registry } from 'prom-client';
import { appliedOperation, operationUnderWay } from '#api/cluster-facts.ts';
import { findCondition } from '#api/conditions.ts';
import { HOST_STATES, type HostRecord, stateOf } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { OPERATION_NAMES, RESULTS } from '#api/operation-values.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { QUEUED } from './decide/status/queued.ts';

/** Caches that the metrics are computed from. */
export interface FleetCaches {
  clusters: Pick<Informer<KubernetesCluster>, 'list' | 'addHandler'>;
  hosts: Pick<Informer<HostRecord>, 'list'>;
  /** Whether this replica leads. The others have caches too, and would count everything once more. */
  isLeading(): boolean;
}

const OPERATION_SECONDS = [10, 20, 30, 60, 90, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200];

/** Conditions that announce a problem while they are True; the others do so while they are False. */
const BAD_IF_TRUE: ReadonlySet<string> = new Set(['Stalled']);
/** Conditions that say what happens, not whether all is well. */
const NEUTRAL: ReadonlySet<string> = new Set(['Reconciling', 'UpToDate']);

/** Whether the cluster was created and is not being deleted; before and after that, nothing is ready. */
const isInUse = (cluster: KubernetesCluster): boolean =>
  appliedOperation(cluster) !== undefined && cluster.metadata.deletionTimestamp === undefined;

const keyOf = ({ metadata: { namespace = '', name = '' } }: KubernetesCluster) => ({ namespace, name });

const isQueued = ({ status }: KubernetesCluster): boolean =>
  findCondition(status?.conditions, 'Reconciling')?.reason === QUEUED;

const secondsOf = (time: string): number => Date.parse(time) / 1_000;

/** Adds metrics of clusters, hosts and operations. Only the replica that leads has them; each reading computes them anew. */
export function fleetMetrics(registry: Registry, { clusters, hosts, isLeading }: FleetCaches): void {
  const registers = [registry];
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    collect: (gauge: Gauge<L>) => void,
  ) =>
    new Gauge<L>({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        if (isLeading()) collect(this);
      },
    });

  gauge('matryoshka_clusters', 'Clusters by phase', ['phase'], (of) => {
    for (const { status } of clusters.list()) of.inc({ phase: status?.phase || 'None' });
  });
  gauge('matryoshka_hosts', 'Hosts by state', ['state'], (of) => {
    for (const state of HOST_STATES) of.set({ state }, 0);
    for (const record of hosts.list()) of.inc({ state: stateOf(record) });
  });
  gauge('matryoshka_operations', 'Operations that run, or wait in the queue', ['state'], (of) => {
    const busy = clusters.list().filter((cluster) => operationUnderWay(cluster) !== undefined);
    const queued = busy.filter(isQueued).length;
    of.set({ state: 'running' }, busy.length - queued);
    of.set({ state: 'queued' }, queued);
  });
  gauge(
    'matryoshka_cluster_problem',
    '1 for each condition of a cluster that needs attention',
    ['namespace', 'name', 'condition', 'reason'],
    (of) => {
      for (const cluster of clusters.list())
        for (const { type, status, reason } of cluster.status?.conditions ?? []) {
          const isBad = BAD_IF_TRUE.has(type) ? status === 'True' : status === 'False' && isInUse(cluster);
          if (NEUTRAL.has(type) || !isBad) continue;
          of.set({ ...keyOf(cluster), condition: type, reason }, 1);
        }
    },
  );
  gauge(
    'matryoshka_cluster_certificates_expire_timestamp_seconds',
    'End of the first certificate of a cluster',
    ['namespace', 'name'],
    (of) => {
      for (const cluster of clusters.list()) {
        const end = cluster.status?.certificatesExpire;
        if (end !== undefined) of.set(keyOf(cluster), secondsOf(end));
      }
    },
  );
  gauge(
    'matryoshka_cluster_snapshot_timestamp_seconds',
    'Time of the newest snapshot of a cluster',
    ['namespace', 'name'],
    (of) => {
      for (const cluster of clusters.list()) {
        const [newest] = cluster.status?.etcdSnapshots?.stored ?? [];
        if (newest) of.set(keyOf(cluster), secondsOf(newest.createdAt));
      }
    },
  );

  const ended = new Histogram({
    name: 'matryoshka_operation_duration_seconds',
    help: 'Time of an operation from its first run to its end',
    buckets: OPERATION_SECONDS,
    labelNames: ['operation', 'result'],
    registers,
  });
  // A series that begins with its first event is invisible to `increase`.
  for (const operation of OPERATION_NAMES) for (const result of RESULTS) ended.zero({ operation, result });
  clusters.addHandler({
    update(before, after) {
      if (!isLeading()) return;
      const [old, now] = [before.status?.operation, after.status?.operation];
      if (!now?.result || now.endedAt === undefined) return;
      if (old?.id === now.id && old.result !== undefined) return;
      ended.observe(
        { operation: now.name, result: now.result },
        Math.max(0, secondsOf(now.endedAt) - secondsOf(now.startedAt)),
      );
    },
  });
}
