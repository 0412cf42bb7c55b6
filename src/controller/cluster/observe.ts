import { keyOf, operationUnderWay, pathText, presentSpec, textOf } from '#api/cluster-facts.ts';
import { clusterHostsOf } from '#api/cluster-host.ts';
import { canonicalIp } from '#api/host.ts';
import { type HostRecord, isOf, remainsAt } from '#api/host-record.ts';
import {
  type KubernetesCluster,
  type OperationStatus,
  type Spec,
  specSchema,
} from '#api/kubernetes-cluster.ts';
import { annotations, finalizerOf } from '#api/names.ts';
import { operationAsked, requestedValue } from '#api/operation-values.ts';
import { shortHash } from '#base/canonical.ts';
import type { Clock } from '#base/clock.ts';
import type { Problem } from '#base/errors.ts';
import { remembered } from '#base/remembered.ts';
import type { AttemptRef, AttemptState, Installer } from '#installer/installer.ts';
import { findOperation } from '#operations/index.ts';
import type { Offer } from '#operations/resolve.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { validateSpec } from '#operations/validate.ts';
import { HOOK } from '#protocol/hook.ts';
import { joins } from '#protocol/run-spec.ts';
import type { Client } from '#runtime/client/client.ts';
import { type DueHook, dueHook } from './decide/due-hook.ts';
import { FETCH } from './decide/fetch-kubeconfig.ts';
import { isAnswered } from './decide/requests.ts';
import {
  type Health,
  type Kubeconfig,
  PRECHECK,
  type Request,
  type Snapshot,
  type Turn,
} from './decide/snapshot.ts';
import { jobName } from './decide/work/rules.ts';
import type { ClusterStates } from './state/cluster-state.ts';
import type { Kubeconfigs } from './state/kubeconfigs.ts';

export interface Observers {
  client: Client;
  clock: Clock;
  offer: Offer;
  clusterStates: ClusterStates;
  installer: Installer;
  kubeconfigs: Kubeconfigs;
  /** Returns the records of a cluster's hosts, from the cache. */
  hostsOf(clusterId: string): readonly HostRecord[];
  /** Returns the record of the host at a canonical address, of any cluster, from the cache. */
  recordAt(ip: string): HostRecord | undefined;
  /** Returns the latest probe report about the cluster. */
  healthOf(cluster: KubernetesCluster): Health;
  /** Whether the operation under way may begin; `begun`: a run of it exists. */
  turnOf(cluster: KubernetesCluster, begun: boolean): Turn;
}

const ABSENT: AttemptState = { kind: 'absent' };
const NOW: Turn = { kind: 'now' };
const NONE: Snapshot['remains'] = new Map();

/**
 * Whether the last probe, which reads the Secret each time, found no valid kubeconfig: the remembered one is then outdated.
 */
const isUnread = (health: Health): boolean =>
  health.kind === 'seen' &&
  health.verdict.conditions.some(({ reason }) => /^Kubeconfig(Missing|Unusable)$/.test(reason));

/** Reads everything that a reconcile may use, once. */
export async function observe(given: KubernetesCluster, deps: Observers): Promise<Snapshot> {
  const { client, clock, clusterStates, installer, kubeconfigs, offer } = deps;
  const now = clock.now();
  const shape = shapeProblems(given);
  const malformed = shape.length > 0;
  // The code below never sees an invalid spec; a deletion needs no spec.
  const cluster = malformed ? { ...given, spec: emptyLike(given.spec) } : given;
  const { uid = '', deletionTimestamp, finalizers = [] } = cluster.metadata;
  const key = keyOf(cluster);
  const carried = cluster.metadata.annotations?.[annotations.clusterId];
  const hasFinalizer = finalizers.includes(finalizerOf(key.name));
  const clusterId = carried ?? shortHash(uid, 12);
  const operation = cluster.status?.operation;
  const hosts = deps.hostsOf(clusterId).filter((record) => isOf(record, textOf(key)));
  const applied = presentSpec(cluster, hosts);
  const underWay = operationUnderWay(cluster);
  const request = requestOf(cluster);
  // Until the second write of the operation's end, its record still needs plan and report.
  const ended = operation?.result !== undefined && !isAnswered({ operation, cluster, request });
  const reported = underWay ?? (ended && !deletionTimestamp ? operation : undefined);
  const current = reported && currentRun(clusterId, reported);
  const [binding, attempts, attempt, plan] = await Promise.all([
    clusterStates.bindingOf(clusterId, key, {
      carriesId: carried !== undefined,
      none: carried === undefined && !hasFinalizer && !cluster.status,
    }),
    installer.list(clusterId),
    current ? installer.observe(current) : ABSENT,
    reported ? clusterStates.planOf(clusterId, reported.sequence) : undefined,
  ]);
  const due = underWay && dueHook(plan, underWay);
  const hook = due && { ...due, state: await installer.observe(hookRun(clusterId, underWay, due)) };
  const health = deps.healthOf(cluster);
  if (isUnread(health)) kubeconfigs.forget(key);
  // There is no kubeconfig before the first operation, and while an attempt runs, nothing needs it.
  const wantsKubeconfig = underWay ? attempt.kind === 'succeeded' : (operation ?? applied) !== undefined;
  const kubeconfig: Kubeconfig =
    wantsKubeconfig && !deletionTimestamp ? await kubeconfigs.of(client, cluster, now) : { kind: 'missing' };
  const fetching = newest(attempts.filter(({ auxiliary }) => auxiliary === FETCH));
  const checking = attempts.find(({ auxiliary }) => auxiliary === PRECHECK);
  return Object.freeze({
    now,
    cluster,
    clusterId,
    binding,
    adopted: carried !== undefined && hasFinalizer,
    hosts,
    applied,
    request,
    operation,
    sequence: clusterStates.lastSequence(clusterId),
    plan,
    attempt,
    hook,
    fetch: fetching ? await installer.observe(fetching) : ABSENT,
    check: checking && { ref: checking, state: await installer.observe(checking) },
    attempts,
    kubeconfig,
    turn: underWay ? deps.turnOf(cluster, (hook?.state ?? attempt).kind !== 'absent') : NOW,
    health,
    sparesOnRecord: (cluster.spec.policy?.replaceFrom ?? [])
      .map(({ ip }) => canonicalIp(ip) ?? ip)
      .filter((ip) => deps.recordAt(ip) !== undefined),
    // The plan of an accepted operation has them.
    remains:
      underWay || deletionTimestamp
        ? NONE
        : remainsAt([...clusterHostsOf(cluster.spec.cluster).keys()].map(deps.recordAt), clusterId),
    takenAway: (plan?.hosts ?? [])
      .filter(joins)
      .map(({ member: host }) => host.ip)
      .filter((ip) => (deps.recordAt(ip)?.spec.clusterId ?? clusterId) !== clusterId),
    offer,
    problems: malformed ? shape : problemsOf(cluster)(offer),
    malformed,
  });
}

function currentRun(
  clusterId: string,
  operation: NonNullable<Snapshot['operation']>,
): AttemptRef | undefined {
  const { sequence, attempt, name } = operation;
  const descriptor = findOperation(name);
  return descriptor && { clusterId, sequence, attempt, job: jobName(descriptor.prefix, operation) };
}

const hookRun = (
  clusterId: string,
  { sequence, attempt }: OperationStatus,
  { job }: DueHook,
): AttemptRef => ({ clusterId, sequence, attempt, job, auxiliary: HOOK });

const newest = (refs: readonly AttemptRef[]): AttemptRef | undefined =>
  refs.reduce<AttemptRef | undefined>(
    (last, ref) =>
      !last || ref.sequence > last.sequence || (ref.sequence === last.sequence && ref.attempt > last.attempt)
        ? ref
        : last,
    undefined,
  );

function requestOf(cluster: KubernetesCluster): Request | undefined {
  const marked = cluster.metadata.annotations ?? {};
  const word = requestedValue(marked[annotations.operation]);
  if (word === undefined) return undefined;
  const requestId = marked[annotations.requestId] ?? '';
  return { word, requestId, specHash: specHashOf(cluster.spec), operation: operationAsked(word) };
}

/** Returns the schema errors of the spec; the CRD may accept, or have accepted once, an invalid one. */
const shapeProblems = remembered(({ spec }: { spec: unknown }): Problem[] =>
  (specSchema.safeParse(spec).error?.issues ?? []).map(({ path, message }) => ({
    field: pathText('spec', path),
    reason: message,
  })),
);

const problemsOf = remembered((cluster: KubernetesCluster) =>
  remembered((offer: Offer): Problem[] => validateSpec(cluster.spec, offer, cluster.status?.version)),
);

/** Returns an empty spec that keeps `paused`, however the user spelled it. */
const emptyLike = (spec: unknown): Spec =>
  typeof spec === 'object' && spec !== null && 'paused' in spec && spec.paused
    ? { paused: true, cluster: {} }
    : { cluster: {} };
