import { appliedOperation } from '#api/cluster-facts.ts';
import { type Condition, findCondition, type Stated } from '#api/conditions.ts';
import type { ClusterStatus, KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Stall } from '../outcome.ts';
import type { Snapshot } from '../snapshot.ts';

/** Conditions that only a look at the cluster can tell. */
export const HEALTH_CONDITIONS = [
  'HostsReachable',
  'ControlPlaneHealthy',
  'EtcdHealthy',
  'CertificatesValid',
  'HostsAsMade',
] as const;

/** Whether there is a cluster to look at: it was created, and is not being deleted. */
export const isObserved = (cluster: KubernetesCluster): boolean =>
  appliedOperation(cluster) !== undefined && cluster.metadata.deletionTimestamp === undefined;

/** What status is to say of each; undefined: nothing. Those of which nothing is known yet are left out, and stay. */
export function healthConditions({ cluster, health }: Snapshot): [string, Stated | undefined][] {
  if (health.kind === 'off' || !isObserved(cluster))
    return HEALTH_CONDITIONS.map((type) => [type, undefined]);
  if (health.kind === 'unseen') return [];
  return health.verdict.conditions
    .filter(({ type }) => HEALTH_CONDITIONS.some((one) => one === type))
    .map((one) => [one.type, one]);
}

/** `status.nodes`; undefined where nobody tells. */
export function nodesOf({ cluster, health }: Snapshot): ClusterStatus['nodes'] {
  if (health.kind === 'off' || !isObserved(cluster)) return undefined;
  return health.kind === 'unseen' ? cluster.status?.nodes : health.verdict.nodes;
}

/** `Ready` as observed, of a created cluster; undefined where nobody looks, or has told anything of it yet. */
export function observedReady({ cluster, health }: Snapshot): Stated | undefined {
  if (health.kind === 'off' || !isObserved(cluster)) return undefined;
  const told = health.kind === 'seen' ? health.verdict.conditions : cluster.status?.conditions;
  return told?.find(({ type }) => type === 'Ready');
}

/** In a few words what is not well, for the summary. */
export function ailmentOf(conditions: readonly Condition[]): string | undefined {
  const bad = ['Ready', ...HEALTH_CONDITIONS]
    .map((type) => findCondition(conditions, type))
    .find((one) => one?.status === 'False');
  return bad && `${bad.type}: ${bad.reason}`;
}

/** Reasons of the Events by which each is told when it turns bad and when it is well again. */
const EVENTS: Readonly<Record<(typeof HEALTH_CONDITIONS)[number], { bad?: string; well: string }>> = {
  HostsReachable: { well: 'NodesReady' },
  ControlPlaneHealthy: { bad: 'ControlPlaneDegraded', well: 'ControlPlaneHealthy' },
  EtcdHealthy: { bad: 'EtcdDegraded', well: 'EtcdHealthy' },
  CertificatesValid: { bad: 'CertificateExpired', well: 'CertificatesValid' },
  HostsAsMade: { bad: 'HostsDrifted', well: 'HostsAsMade' },
};
/** Reasons for which a condition is True and worth a warning all the same. */
const WARNINGS: Readonly<Record<string, string>> = {
  ExpiresSoon: 'CertificateExpiresSoon',
  DatabaseNearlyFull: 'EtcdDatabaseNearlyFull',
};

interface Told extends Stall {
  type: 'Normal' | 'Warning';
}

/** What changed between two statuses, as Events tell it: what is bad by its message, what is well again once. */
export function healthEvents(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): Told[] {
  return HEALTH_CONDITIONS.flatMap((type): Told[] => {
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
