import { appliedOperation } from '#api/cluster-facts.ts';
import { type Condition, findCondition, type Stated } from '#api/conditions.ts';
import type { ClusterStatus, KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Stall } from '../outcome.ts';
import type { Snapshot } from '../snapshot.ts';

/** Conditions that only a probe of the cluster can determine. */
export const HEALTH_CONDITIONS = [
  'HostsReachable',
  'ControlPlaneHealthy',
  'EtcdHealthy',
  'CertificatesValid',
  'HostsAsMade',
] as const;

/** Whether there is a cluster to probe: it was created, and is not being deleted. */
export const isObserved = (cluster: KubernetesCluster): boolean =>
  appliedOperation(cluster) !== undefined && cluster.metadata.deletionTimestamp === undefined;

/** Returns each condition; undefined removes it from status. Conditions without a finding yet are left out, and stay. */
export function healthConditions({ cluster, health }: Snapshot): [string, Stated | undefined][] {
  if (health.kind === 'off' || !isObserved(cluster))
    return HEALTH_CONDITIONS.map((type) => [type, undefined]);
  if (health.kind === 'unseen') return [];
  return health.verdict.conditions
    .filter(({ type }) => HEALTH_CONDITIONS.some((one) => one === type))
    .map((one) => [one.type, one]);
}

/** Returns `status.nodes`; undefined if probes are off or the cluster is not probed. */
export function nodesOf({ cluster, health }: Snapshot): ClusterStatus['nodes'] {
  if (health.kind === 'off' || !isObserved(cluster)) return undefined;
  return health.kind === 'unseen' ? cluster.status?.nodes : health.verdict.nodes;
}

/** Returns when the first known certificate ends: the kubeconfig's, or one that a probe has found. */
export function certificatesExpireIn({
  cluster,
  kubeconfig,
  health,
}: Snapshot): Pick<ClusterStatus, 'certificatesExpire'> {
  if (kubeconfig.kind !== 'present') return {};
  // After a restart, the value in status stays until the first probe.
  if (health.kind === 'unseen' && cluster.status?.certificatesExpire !== undefined) return {};
  const found = health.kind === 'seen' ? health.verdict.certificatesEnd : undefined;
  const [first] = [kubeconfig.expires, found]
    .flatMap((at) => at ?? [])
    .toSorted((a, b) => a.getTime() - b.getTime());
  return first ? { certificatesExpire: first.toISOString() } : {};
}

/** Returns `Ready` of a created cluster as probed; undefined if probes are off or nothing has been reported yet. */
export function observedReady({ cluster, health }: Snapshot): Stated | undefined {
  if (health.kind === 'off' || !isObserved(cluster)) return undefined;
  const reported = health.kind === 'seen' ? health.verdict.conditions : cluster.status?.conditions;
  return reported?.find(({ type }) => type === 'Ready');
}

/** Returns type and reason of the first condition that is False, for the summary. */
export function ailmentOf(conditions: readonly Condition[]): string | undefined {
  const bad = ['Ready', ...HEALTH_CONDITIONS]
    .map((type) => findCondition(conditions, type))
    .find((one) => one?.status === 'False');
  return bad && `${bad.type}: ${bad.reason}`;
}

/** Reasons of the Events when a condition becomes False and when it becomes True again. */
const EVENTS: Readonly<Record<(typeof HEALTH_CONDITIONS)[number], { bad?: string; well: string }>> = {
  HostsReachable: { well: 'NodesReady' },
  ControlPlaneHealthy: { bad: 'ControlPlaneDegraded', well: 'ControlPlaneHealthy' },
  EtcdHealthy: { bad: 'EtcdDegraded', well: 'EtcdHealthy' },
  CertificatesValid: { bad: 'CertificateExpired', well: 'CertificatesValid' },
  HostsAsMade: { bad: 'HostsDrifted', well: 'HostsAsMade' },
};
/** Reasons of True conditions that still deserve a warning. */
const WARNINGS: Readonly<Record<string, string>> = {
  ExpiresSoon: 'CertificateExpiresSoon',
  DatabaseNearlyFull: 'EtcdDatabaseNearlyFull',
};

interface Reported extends Stall {
  type: 'Normal' | 'Warning';
}

/** Returns the Events for the changes between two statuses: each new problem with its message, each recovery once. */
export function healthEvents(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): Reported[] {
  return HEALTH_CONDITIONS.flatMap((type): Reported[] => {
    const [old, now] = [findCondition(before, type), findCondition(after, type)];
    if (!now || (old?.status === now.status && old.message === now.message)) return [];
    const { message } = now;
    const { bad = now.reason, well } = EVENTS[type];
    const warning = now.status === 'False' ? bad : now.status === 'True' ? WARNINGS[now.reason] : undefined;
    if (warning !== undefined) return [{ type: 'Warning', reason: warning, message }];
    return old?.status === 'False' && now.status === 'True'
      ? [{ type: 'Normal', reason: well, message }]
      : [];
  });
}
