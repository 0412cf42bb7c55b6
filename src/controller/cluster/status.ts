import { findCondition, type Stated, withCondition, withoutCondition } from '#api/conditions.ts';
import type { ClusterStatus, OperationStatus, RequestRecord } from '#api/kubernetes-cluster.ts';
import type { Phase } from '#api/words.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import { membersOf } from '#operations/members.ts';
import { jobName } from './attempt-rules.ts';
import type { Outcome, Stall } from './outcome.ts';
import type { Snapshot } from './snapshot.ts';

/** How many requests of each word are remembered. */
const REMEMBERED = 20;
/** Below what the CRD takes, so that no report, however long, can make a status that is refused. */
const MAX_REASON = 256;
const MAX_MESSAGE = 3500;

/** What an outcome makes of phase and operation; conditions follow from these. */
interface Next {
  phase: Phase;
  operation: OperationStatus | undefined;
  requests: RequestRecord[];
  reason: string;
  message: string;
}

/** The status that tells `outcome`; equal to the present one when there is nothing new to say. */
export function statusAfter(snapshot: Snapshot, outcome: Outcome, accepted?: OperationStatus): ClusterStatus {
  const { cluster, now } = snapshot;
  const old: ClusterStatus = cluster.status ?? {};
  const next = progress(old, outcome, now, accepted);
  const { operation } = next;
  const running = operation !== undefined && operation.result === undefined;
  const stalled = stallOf(snapshot, next, 'stall' in outcome ? outcome.stall : undefined, running);
  const states: [string, Stated | undefined][] = [
    ['Ready', readiness(snapshot, next)],
    [
      'Reconciling',
      running && !stalled ? condition('Reconciling', 'True', operation.word, operation.step) : undefined,
    ],
    [
      'Stalled',
      stalled
        ? condition('Stalled', 'True', stalled.reason, stalled.message.slice(0, MAX_MESSAGE))
        : undefined,
    ],
  ];
  let conditions = old.conditions ?? [];
  for (const [type, stated] of states) {
    conditions = stated
      ? withCondition(conditions, stated, now, cluster.metadata.generation)
      : withoutCondition(conditions, type);
  }
  const job = operation && findOperation(operation.name);
  const version = operation?.result === 'finished' ? operation.spec.cluster.kubeVersion : old.version;
  const { kubeconfig } = snapshot;
  const status: ClusterStatus = {
    ...old,
    phase: next.phase,
    reason: next.reason,
    message: next.message,
    requests: next.requests,
    conditions,
    hosts: snapshot.claims.map(({ host, state }) => ({ ip: host.ip, state })),
    lastTransitionTime:
      old.phase === next.phase && old.lastTransitionTime !== undefined
        ? old.lastTransitionTime
        : now.toISOString(),
    ...(operation ? { operation } : {}),
    ...(job && operation ? { jobName: jobName(job.prefix, operation) } : {}),
    ...(version === undefined ? {} : { version }),
    ...(kubeconfig.kind === 'present' && kubeconfig.expires
      ? { certificatesExpire: kubeconfig.expires.toISOString() }
      : {}),
  };
  // A generation is judged when it is accepted, or when nothing runs that could still pick it up.
  if (outcome.kind === 'accept' || !running) status.observedGeneration = cluster.metadata.generation ?? 0;
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
    const { word, requestId, specHash, sequence } = accepted;
    const record = { word, requestId, specHash, sequence };
    return { phase, operation: accepted, requests: remember(requests, record), reason: '', message: '' };
  }
  if (outcome.kind === 'move' && old.operation) {
    const operation = { ...old.operation, ...outcome.operation };
    return { ...present, phase: outcome.to, operation, requests: withResult(requests, operation) };
  }
  if (outcome.kind === 'fail' && old.operation) {
    const operation: OperationStatus = { ...old.operation, result: 'failed', endedAt: now.toISOString() };
    const { reason, message } = outcome;
    const cut = { reason: reason.slice(0, MAX_REASON), message: message.slice(0, MAX_MESSAGE) };
    return { phase: 'Failed', operation, requests: withResult(requests, operation), ...cut };
  }
  return present;
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

/** `Stalled` says why nothing will happen without a person: what this reconcile found, or how the last operation ended. */
function stallOf(
  snapshot: Snapshot,
  { operation, reason, message }: Next,
  found: Stall | undefined,
  running: boolean,
): Stall | undefined {
  if (found) return found;
  if (running || operation?.result !== 'failed') return undefined;
  // What failed is not asked for any more: the spec is what is there again.
  if (operation.name !== 'delete' && isWhatIsThere(snapshot)) return undefined;
  return { reason: 'OperationFailed', message: `${reason}: ${message}` };
}

function isWhatIsThere({ applied, cluster, claims }: Snapshot): boolean {
  if (!applied || infer(applied, cluster.spec).kind !== 'nothing') return false;
  const wanted = membersOf(cluster.spec.cluster);
  return (
    wanted.size === claims.length &&
    claims.every(({ host, state }) => state === 'joined' && wanted.has(host.ip))
  );
}

/** `Ready` tells the cluster, not the operation: one that was created stays ready through a failed scale-up. */
function readiness({ cluster, applied }: Snapshot, next: Next): Stated {
  if (cluster.metadata.deletionTimestamp)
    return condition('Ready', 'False', 'Terminating', 'the cluster is being deleted');
  const created =
    applied !== undefined || (next.operation?.name === 'create' && next.operation.result === 'finished');
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
