/** Computes the next status of a cluster from its snapshot and an outcome. No I/O. */

import { appliedOperation } from '#api/cluster-facts.ts';
import { findCondition, type Stated, withCondition, withoutCondition } from '#api/conditions.ts';
import { stateOf } from '#api/host-record.ts';
import type { ClusterStatus, OperationStatus, RequestRecord } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES, type OperationName, type Phase } from '#api/operation-values.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { planToReport } from '../approved-plan.ts';
import type { Outcome, Stall } from '../outcome.ts';
import { remediationConditions } from '../rest/remediation.ts';
import { isResetAgain } from '../rest/reset-left.ts';
import { snapshotsCondition } from '../rest/scheduled-snapshot.ts';
import type { Snapshot } from '../snapshot.ts';
import { jobName } from '../work/rules.ts';
import { etcdSnapshotsAfter } from './etcd-snapshots.ts';
import { ailmentOf, certificatesExpireIn, healthConditions, nodesOf, observedReady } from './health.ts';
import type { Next } from './next.ts';
import { doingOf, queued } from './queued.ts';
import { attention, countsOf, summaryOf } from './summary.ts';

/** Number of requests of each operation annotation that status remembers. */
const REMEMBERED = 20;
/** Below the limit of the CRD, so that no report is too long for status. */
const MAX_REASON = 256;
const MAX_MESSAGE = 3500;

/** Returns the status after `outcome`; equal to the present one if nothing changed. */
export function statusAfter(snapshot: Snapshot, outcome: Outcome, accepted?: OperationStatus): ClusterStatus {
  const { cluster, now, hosts } = snapshot;
  const old: ClusterStatus = cluster.status ?? {};
  const next = progress(old, outcome, now, accepted);
  const { operation } = next;
  const running = operation !== undefined && operation.result === undefined;
  const stalled = stallOf(snapshot, next, 'stall' in outcome ? outcome.stall : undefined, running);
  const current = upToDate(snapshot, next, running, stalled);
  const states: [string, Stated | undefined][] = [
    ['Ready', readiness(snapshot, next)],
    ['UpToDate', current],
    [
      'Reconciling',
      running && !stalled
        ? (queued(outcome, old.conditions) ??
          condition('Reconciling', 'True', operation.word, operation.step))
        : undefined,
    ],
    [
      'Stalled',
      stalled && condition('Stalled', 'True', stalled.reason, stalled.message.slice(0, MAX_MESSAGE)),
    ],
    ...healthConditions(snapshot),
    ['SnapshotsCurrent', snapshotsCondition(snapshot)],
    ...remediationConditions(snapshot, current.status === 'True'),
  ];
  let conditions = old.conditions ?? [];
  for (const [type, stated] of states) {
    conditions = stated
      ? withCondition(conditions, stated, now, cluster.metadata.generation)
      : withoutCondition(conditions, type);
  }
  const job = operation && findOperation(operation.name);
  const version = operation?.result === 'finished' ? operation.spec.cluster.kubeVersion : old.version;
  const status: ClusterStatus = {
    ...old,
    phase: next.phase,
    reason: next.reason,
    message: next.message,
    summary: summaryOf(next, {
      doing: running ? doingOf(operation, conditions) : undefined,
      stalled,
      hosts,
      created: appliedOperation(cluster) !== undefined,
      ailment: ailmentOf(conditions),
    }),
    requests: next.requests,
    conditions,
    hosts: attention(hosts),
    hostStates: countsOf(hosts),
    lastTransitionTime:
      old.phase === next.phase && old.lastTransitionTime !== undefined
        ? old.lastTransitionTime
        : now.toISOString(),
    ...(operation ? { operation } : {}),
    ...(job && operation ? { jobName: jobName(job.prefix, operation) } : {}),
    ...(version === undefined ? {} : { version }),
    ...certificatesExpireIn(snapshot),
    ...etcdSnapshotsAfter(snapshot, operation),
  };
  const [nodes, plan] = [nodesOf(snapshot), planToReport(snapshot, outcome)];
  if (nodes) status.nodes = nodes;
  else delete status.nodes;
  if (plan) status.plan = plan;
  else delete status.plan;
  // A generation is observed when it is accepted, or when nothing runs that could still pick it up. The end of an operation
  // does not observe a generation that came meanwhile.
  const generation = cluster.metadata.generation ?? 0;
  const unjudged = outcome.kind === 'end' && operation?.generation !== generation;
  if (!unjudged && (outcome.kind === 'accept' || !running)) status.observedGeneration = generation;
  return status;
}

function progress(old: ClusterStatus, outcome: Outcome, now: Date, accepted?: OperationStatus): Next {
  const requests = old.requests ?? [];
  const present: Next = {
    phase: old.phase ?? '',
    operation: old.operation,
    requests,
    reason: old.reason ?? '',
    message: old.message ?? '',
  };
  if (outcome.kind === 'accept' && accepted) {
    const phase = accepted.name === 'delete' ? 'Terminating' : 'Prechecking';
    const { word, requestId, specHash, sequence, spec } = accepted;
    const history = spec.history === undefined ? {} : { history: spec.history };
    const record = { word, requestId, specHash, sequence, ...history };
    return { phase, operation: accepted, requests: remember(requests, record), reason: '', message: '' };
  }
  if (outcome.kind === 'move' && old.operation) {
    return { ...present, phase: outcome.to, operation: { ...old.operation, ...outcome.operation } };
  }
  if (outcome.kind === 'end' && old.operation) {
    const { result, reason, message, hooksDone } = outcome;
    const done = result === 'finished';
    const operation: OperationStatus = {
      ...old.operation,
      result,
      endedAt: now.toISOString(),
      ...(done ? { step: 'done' } : {}),
      ...(hooksDone === undefined ? {} : { hooksDone }),
    };
    return {
      phase: phaseAfter(operation),
      operation,
      requests: withResult(requests, operation),
      reason: reason.slice(0, MAX_REASON),
      message: message.slice(0, MAX_MESSAGE),
    };
  }
  return present;
}

function phaseAfter(operation: OperationStatus): Phase {
  if (operation.phaseBefore !== undefined) return operation.phaseBefore;
  if (operation.result === 'finished') return findOperation(operation.name)?.ends ?? 'Running';
  return isResetAgain(operation) ? 'Running' : 'Failed';
}

function remember(requests: readonly RequestRecord[], record: RequestRecord): RequestRecord[] {
  const same = requests.filter(({ word }) => word === record.word);
  const dropped = same.length >= REMEMBERED ? same[0] : undefined;
  return [...requests.filter((request) => request !== dropped), record];
}

const withResult = (requests: readonly RequestRecord[], operation: OperationStatus): RequestRecord[] =>
  requests.map((request) =>
    operation.result !== undefined && request.sequence === operation.sequence
      ? { ...request, result: operation.result }
      : request,
  );

const condition = (type: string, status: 'True' | 'False', reason: string, message: string): Stated => ({
  type,
  status,
  reason: reason.replaceAll(/(^|-)([a-z])/g, (_all, _dash, letter: string) => letter.toUpperCase()),
  message,
});

/**
 * Operations whose failure counts even if the spec equals what is applied again: a restore changes no spec, and hosts may have
 * settings that the applied spec does not have. After another one, the failed change is no longer requested.
 */
const STAYS_STALLED: ReadonlySet<OperationName> = new Set(['delete', 'restore', 'reconfigure']);

/** Returns why nothing proceeds until a user acts: the finding of this reconcile, or how the last operation ended. */
function stallOf(
  snapshot: Snapshot,
  { operation, reason, message }: Next,
  found: Stall | undefined,
  running: boolean,
): Stall | undefined {
  if (found) return found;
  if (running || operation?.result === undefined || operation.result === 'finished') return undefined;
  // Nothing waits for a snapshot; condition SnapshotsCurrent and an Event report its failure.
  if (isResetAgain(operation) || operation.name === 'snapshot') return undefined;
  if (!STAYS_STALLED.has(operation.name) && isWhatIsThere(snapshot)) return undefined;
  return operation.result === 'cancelled'
    ? { reason: 'Cancelled', message }
    : { reason: 'OperationFailed', message: `${reason}: ${message}` };
}

function isWhatIsThere({ applied, cluster, hosts }: Snapshot): boolean {
  return (
    applied !== undefined &&
    infer(applied, cluster.spec).kind === 'nothing' &&
    hosts.every((host) => stateOf(host) === 'Joined')
  );
}

/** Returns `Ready`, which describes the cluster and not the operation: the probe's finding, or that it was created. */
function readiness(snapshot: Snapshot, next: Next): Stated {
  const { cluster } = snapshot;
  if (cluster.metadata.deletionTimestamp)
    return condition('Ready', 'False', 'Terminating', 'the cluster is being deleted');
  const observed = observedReady(snapshot);
  if (observed) return observed;
  const created =
    appliedOperation(cluster) !== undefined ||
    (next.operation?.name === 'create' && next.operation.result === 'finished');
  if (created)
    return condition('Ready', 'True', 'Created', 'the last operation that succeeded left every node Ready');
  const old = findCondition(cluster.status?.conditions, 'Ready');
  return condition(
    'Ready',
    'False',
    next.phase === '' ? (old?.reason ?? 'NotRequested') : next.phase,
    next.message,
  );
}

/**
 * Returns `UpToDate`, the condition to wait for: True if the cluster matches the spec of this generation and nothing is
 * under way. `kubectl wait --for=condition=UpToDate` compares its observedGeneration with the object's generation.
 */
function upToDate(snapshot: Snapshot, next: Next, running: boolean, stalled: Stall | undefined): Stated {
  const { operation } = next;
  if (running)
    return condition('UpToDate', 'False', operation?.word ?? 'Running', `${operation?.word} is under way`);
  if (stalled) return condition('UpToDate', 'False', stalled.reason, stalled.message.slice(0, MAX_MESSAGE));
  const { applied, cluster } = snapshot;
  const done = condition('UpToDate', 'True', 'Applied', 'the cluster is what the spec says');
  const endsNow = operation?.result !== undefined && cluster.status?.operation?.result === undefined;
  // When an operation ends, the applied spec is not on record yet; the spec that was accepted with it decides. A snapshot
  // applies nothing.
  const hasApplied = endsNow && operation.result === 'finished' && operation.name !== 'snapshot';
  if (hasApplied && operation.specHash === specHashOf(cluster.spec)) return done;
  const isAnswer =
    endsNow &&
    snapshot.request?.word === operation.word &&
    snapshot.request.requestId === operation.requestId;
  const request = isAnswer ? undefined : snapshot.request;
  if (applied && !request && infer(applied, cluster.spec).kind === 'nothing') return done;
  if (request) return condition('UpToDate', 'False', 'Asked', `${request.word} is asked and has not begun`);
  if (applied) return condition('UpToDate', 'False', 'Edited', 'the spec was edited since it was applied');
  const how = `set annotation ${annotations.operation} to "${OPERATION_VALUES.create.asked}"`;
  return condition('UpToDate', 'False', 'NotRequested', `nothing was asked for yet; ${how}`);
}
