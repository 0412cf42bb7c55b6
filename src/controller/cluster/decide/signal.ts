import { appliedOperation, isCancelled, isDryRun } from '#api/cluster-facts.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations, finalizerOf } from '#api/names.ts';
import { type Phase, WORDS } from '#api/words.ts';
import type { AttemptRef } from '#installer/installer.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { HOOK } from '#protocol/hook.ts';
import { isAgreed } from './agreed.ts';
import { hookSignal } from './hook-signal.ts';
import { duePointing } from './point-kubeconfig.ts';
import { dueRemedy } from './remedy.ts';
import { dueReset } from './reset-left.ts';
import { inFlight, PRECHECK, type Request, type Snapshot } from './snapshot.ts';
import { deadlineOf, isFirstToBegin, lostAt, stopBy } from './times.ts';

/** The one thing about a snapshot that decides what happens next: where no operation runs, or none counts. */
export type RestSignal =
  /** The cluster-id is another object's, or has no anchor. */
  | 'conflict'
  /** Deleted, and no host was ever touched: there is nothing to reset. */
  | 'forgotten'
  /** Deletion is asked and not yet accepted. */
  | 'deleted'
  /** The phase is one of an operation that runs, and none does; or the other way round. */
  | 'misfit'
  /** The result is written, the word not yet. */
  | 'ended'
  /** Runs of ended operations are still there. */
  | 'untidy'
  /** Something would start, but spec.paused holds it. */
  | 'paused'
  /** Asked for the first time, or its finalizer or id was stripped. */
  | 'unbound'
  /** The request in the annotation was carried out before. */
  | 'answered'
  /** A new request. */
  | 'asked'
  /** The spec was edited, and what it asks for is safe to infer. */
  | 'declared'
  /** Either of them, and it is only to be planned. */
  | 'rehearsed'
  /** Either of them, under a plan that is another by now. */
  | 'replanned'
  | 'unconfirmed'
  | 'not-offered'
  /** The spec is no spec, or none that can be carried out. */
  | 'invalid'
  /** The cluster is there and its kubeconfig Secret is not, or names a control plane that is away. */
  | 'keyless'
  /** A control plane has been away for so long that a spare host is to take its place. */
  | 'remedied'
  /** A host that left without a reset is to be tried again. */
  | 'unreset'
  | 'quiet';

/** The same while an operation is under way. */
export type WorkSignal =
  /** The attempt was not yet seen. */
  | 'starting'
  /** It would start, but spec.paused holds it. */
  | 'held'
  | 'started'
  | 'running'
  | 'lost'
  | 'overdue'
  /** It shall be cancelled, and no run of it was begun. */
  | 'withdrawn'
  /** It shall be cancelled, and its run was not told yet. */
  | 'cancelled'
  /** Its run was told to stop, and may still report. */
  | 'stopping'
  /** Its run was told to stop and is gone, or does not report. */
  | 'cut'
  | 'succeeded'
  | 'failed'
  /** A hook comes next, and no Job of it was seen. */
  | 'hook-due'
  | 'hook-started'
  | 'hook-running'
  | 'hook-done'
  | 'hook-failed'
  /** It shall be cancelled, and a hook is next or at work. */
  | 'hook-cut';

const REST_PHASES: readonly Phase[] = ['', 'Running', 'Failed'];

const isDeleting = ({ cluster }: Snapshot): boolean => cluster.metadata.deletionTimestamp !== undefined;

/** Ranks the facts: identity, deletion, then what is asked. Undefined while an operation is under way. */
export function restSignalOf(snapshot: Snapshot): RestSignal | undefined {
  const { binding, operation, cluster } = snapshot;
  const held = cluster.metadata.finalizers?.includes(finalizerOf(cluster.metadata.name ?? ''));
  if (isDeleting(snapshot) && !held) return 'quiet';
  if (binding.kind === 'foreign' || binding.kind === 'missing') return 'conflict';
  if (isDeleting(snapshot) && hasNothingToReset(snapshot)) return 'forgotten';
  if (isDeleting(snapshot) && operation?.name !== 'delete') return 'deleted';
  if (inFlight(snapshot)) return undefined;
  if (operation && !isAnswered(snapshot)) return 'ended';
  if (isDeleting(snapshot)) return isNewDeletion(snapshot) ? 'deleted' : 'quiet';
  if (!REST_PHASES.includes(cluster.status?.phase ?? '')) return 'misfit';
  const spoken = spokenSignal(snapshot);
  const begins = spoken === 'asked' || spoken === 'declared';
  if (begins && isDryRun(snapshot.cluster)) return 'rehearsed';
  if (snapshot.attempts.some(({ errand }) => errand === PRECHECK)) return 'untidy';
  return begins && !isAgreed(snapshot) ? 'replanned' : spoken;
}

/**
 * Hosts are held before anything reaches them, so without one there is nothing to reset, whatever else is missing: a
 * Secret, a right, a namespace. A deletion whose run was seen ends by what that run reports.
 */
function hasNothingToReset(snapshot: Snapshot): boolean {
  const { operation, hosts } = snapshot;
  const runs = operation?.name === 'delete' && inFlight(snapshot) && operation.step !== 'starting';
  const ended = operation?.name === 'delete' && operation.result === 'finished';
  return hosts.length === 0 && !runs && !ended;
}

export function workSignalOf(snapshot: Snapshot, operation: OperationStatus): WorkSignal {
  const { attempt, now, cluster, plan, hook } = snapshot;
  const late = now.getTime() >= deadlineOf(operation);
  if (hook) return hookSignal(snapshot, operation, hook, late);
  // Of an attempt that has ended before it was seen there is nothing to say but how.
  if (attempt.kind === 'failed') return attempt.kind;
  // Until its beginning was seen the time counts from its acceptance, and it may have waited since.
  const isUnseen = plan !== undefined && isFirstToBegin(operation);
  if (attempt.kind === 'succeeded') return isUnseen && late ? 'started' : attempt.kind;
  if (isCancelled(cluster)) return cancelSignal(snapshot, operation);
  if (operation.step === 'starting') {
    if (attempt.kind !== 'absent') return 'started';
    if (cluster.spec.paused) return 'held';
    return late && !isFirstToBegin(operation) ? 'overdue' : 'starting';
  }
  if (late) return 'overdue';
  if (attempt.kind !== 'running' || now.getTime() >= lostAt(attempt)) return 'lost';
  // A pod that never began, and that nothing which is set now can reach: the next attempt may begin.
  return attempt.blocked?.outdated ? 'lost' : 'running';
}

const REPORT_MS = 5_000;

function cancelSignal({ attempt, now }: Snapshot, operation: OperationStatus): WorkSignal {
  if (operation.cancelledAt === undefined)
    return operation.step === 'starting' && attempt.kind === 'absent' ? 'withdrawn' : 'cancelled';
  // A report that was kept may be seen a little later than the end of its run.
  if (attempt.kind === 'lost' && now.getTime() < Date.parse(attempt.endedAt ?? '') + REPORT_MS)
    return 'stopping';
  // A pod that cannot start hears nothing.
  if (attempt.kind !== 'running' || attempt.blocked) return 'cut';
  const by = isFinished(operation) ? deadlineOf(operation) : stopBy(operation);
  return now.getTime() >= Math.min(by, lostAt(attempt)) ? 'cut' : 'stopping';
}

/** Whether its run is at a step that is finished first, whoever cancels. */
const isFinished = ({ name, step }: OperationStatus): boolean =>
  findOperation(name)?.planning.steps.some((one) => one.name === step && one.cut === 'never') ?? false;

/**
 * Whether the second write of the operation's end was made. A word that someone wrote meanwhile stays, but what was
 * applied, or why it was not, must be on record whatever the word says.
 */
export function isAnswered({
  operation,
  cluster,
  request,
}: Pick<Snapshot, 'operation' | 'cluster' | 'request'>): boolean {
  if (!operation?.result || (operation.name === 'delete' && operation.result === 'finished')) return false;
  const onRecord =
    operation.result === 'finished'
      ? appliedOperation(cluster)?.sequence === operation.sequence
      : operation.recorded === true;
  if (request) {
    const same = request.word === operation.word && request.requestId === operation.requestId;
    return onRecord && !(same && request.specHash === operation.specHash);
  }
  return (
    onRecord &&
    cluster.metadata.annotations?.[annotations.operation] === WORDS[operation.name][operation.result]
  );
}

/** Whether what is asked may not begin; a plan alone may be made. */
const isHeld = (cluster: Snapshot['cluster']): boolean => cluster.spec.paused === true && !isDryRun(cluster);

/** What the object says, by word or by spec. */
function spokenSignal(snapshot: Snapshot): RestSignal {
  const { cluster, request, applied, binding, attempts, kubeconfig } = snapshot;
  const left = attempts.filter(({ errand, leavesBy }) => errand !== PRECHECK && leavesBy === undefined);
  const isDone = ({ errand }: AttemptRef) => errand === undefined || errand === HOOK;
  if (left.some((one) => kubeconfig.kind === 'present' || isDone(one))) return 'untidy';
  if (binding.kind === 'ours' && !snapshot.adopted) return 'unbound';
  if (snapshot.malformed) return 'invalid';
  if (request) return requestSignal(snapshot);
  if (!applied) return 'quiet';
  if (snapshot.problems.length > 0) return 'invalid';
  const inference = infer(applied, cluster.spec);
  if (inference.kind === 'needs-confirmation') return 'unconfirmed';
  if (inference.kind === 'not-offered') return 'not-offered';
  if (inference.kind === 'operation') {
    // Of one that was tried and did not succeed, that says more than that it is not tried again.
    if (wasTried(snapshot))
      return (snapshot.operation?.result ?? 'finished') === 'finished' ? 'unconfirmed' : 'quiet';
    return isHeld(cluster) ? 'paused' : 'declared';
  }
  if (kubeconfig.kind !== 'present' || duePointing(snapshot)) return 'keyless';
  if (dueRemedy(snapshot)) return 'remedied';
  return dueReset(snapshot) ? 'unreset' : 'quiet';
}

/**
 * Whether the spec was asked for by what changed the cluster last, or since: what was removed since may be added again,
 * a worker that failed on its way is not tried for ever.
 */
function wasTried({ cluster }: Snapshot): boolean {
  const hash = specHashOf(cluster.spec);
  const since = appliedOperation(cluster)?.sequence ?? 0;
  return (
    cluster.status?.requests?.some(({ specHash, sequence }) => specHash === hash && sequence >= since) ??
    false
  );
}

function requestSignal(snapshot: Snapshot): RestSignal {
  const { request, cluster, applied, binding } = snapshot;
  if (!isNew(snapshot) || (request?.word === WORDS.create.asked && applied)) return 'answered';
  if (!findOperation(request?.operation)) return 'not-offered';
  if (isHeld(cluster)) return 'paused';
  return binding.kind === 'unbound' || !snapshot.adopted ? 'unbound' : 'asked';
}

/** The id of a request to delete: whoever retries a deletion changes it, whatever word stands beside it. */
export const deletionRequestId = (cluster: Snapshot['cluster']): string =>
  cluster.metadata.annotations?.[annotations.requestId] ?? '';

const isNewDeletion = ({ cluster }: Snapshot): boolean =>
  !cluster.status?.requests?.some(
    ({ word, requestId }) => word === WORDS.delete.asked && requestId === deletionRequestId(cluster),
  );

/** The record of a request that was accepted before, as it was the last time. */
export const acceptedAs = ({ status }: Snapshot['cluster'], asked: Omit<Request, 'operation'>) =>
  status?.requests?.findLast(
    ({ word, requestId, specHash }) =>
      word === asked.word && requestId === asked.requestId && specHash === asked.specHash,
  );

const isNew = ({ request, cluster }: Snapshot): boolean =>
  request !== undefined && acceptedAs(cluster, request) === undefined;
