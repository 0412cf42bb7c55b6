import { annotations, finalizerOf } from '#api/names.ts';
import { isResultWord, WORDS } from '#api/words.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { AttemptState } from '#installer/installer.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { inFlight, type Snapshot } from './snapshot.ts';

/** The one thing about a snapshot that decides what happens next. */
export type Signal =
  /** The cluster-id is another object's, or has no anchor. */
  | 'conflict'
  /** Deleted, and no host was ever touched: there is nothing to reset. */
  | 'forgotten'
  /** Deletion is asked and not yet accepted. */
  | 'deleted'
  /** The result is written, the word not yet. */
  | 'ended'
  /** Something would start, but spec.paused holds it. */
  | 'paused'
  | 'overdue'
  /** The attempt was not yet seen. */
  | 'starting'
  | 'started'
  | 'running'
  | 'lost'
  | 'succeeded'
  | 'failed'
  /** Asked for the first time, or its finalizer or id was stripped. */
  | 'unbound'
  /** Attempts of ended operations are still there. */
  | 'untidy'
  /** The request in the annotation was carried out before. */
  | 'answered'
  /** A new request. */
  | 'asked'
  /** The spec was edited, and what it asks for is safe to infer. */
  | 'declared'
  | 'unconfirmed'
  | 'not-offered'
  /** The spec is no spec, or none that can be carried out. */
  | 'invalid'
  /** The cluster is there and its kubeconfig Secret is not, as far as one may look. */
  | 'keyless'
  | 'quiet';

const isDeleting = ({ cluster }: Snapshot): boolean => cluster.metadata.deletionTimestamp !== undefined;

/** Ranks the facts: identity, deletion, how the attempt ended, then what is asked. */
export function signalOf(snapshot: Snapshot): Signal {
  const { binding, operation, cluster } = snapshot;
  const held = cluster.metadata.finalizers?.includes(finalizerOf(cluster.metadata.name ?? ''));
  if (isDeleting(snapshot) && !held) return 'quiet';
  if (binding.kind === 'foreign' || binding.kind === 'missing') return 'conflict';
  if (isDeleting(snapshot) && hasNothingToReset(snapshot)) return 'forgotten';
  if (isDeleting(snapshot) && operation?.name !== 'delete') return 'deleted';
  if (inFlight(snapshot)) return attemptSignal(snapshot);
  if (operation && !isAnswered(snapshot)) return 'ended';
  if (isDeleting(snapshot)) return isNewDeletion(snapshot) ? 'deleted' : 'quiet';
  return restSignal(snapshot);
}

/**
 * Hosts are claimed before anything reaches them, so without a claim there is nothing to reset, whatever else is
 * missing: a Secret, a right, a namespace. A deletion whose Job was seen ends by what that Job reports.
 */
function hasNothingToReset(snapshot: Snapshot): boolean {
  const { operation, claims } = snapshot;
  const runs = operation?.name === 'delete' && inFlight(snapshot) && operation.step !== 'starting';
  const ended = operation?.name === 'delete' && operation.result === 'finished';
  return claims.length === 0 && !runs && !ended;
}

/** Milliseconds since 1970 at which the operation must be over. */
export function deadlineOf({ operation }: Snapshot): number {
  const minutes = Number(operation?.spec.cluster.timeout_mins ?? 60);
  return Date.parse(operation?.startedAt ?? '') + minutes * 60_000;
}

function attemptSignal(snapshot: Snapshot): Signal {
  const { attempt, operation, now, cluster } = snapshot;
  // Of an attempt that has ended before it was seen there is nothing to say but how.
  if (attempt.kind === 'succeeded' || attempt.kind === 'failed') return attempt.kind;
  if (operation?.step === 'starting') {
    if (attempt.kind !== 'absent') return 'started';
    if (cluster.spec.paused) return 'paused';
    return operation.attempt > 1 && now.getTime() >= deadlineOf(snapshot) ? 'overdue' : 'starting';
  }
  if (now.getTime() >= deadlineOf(snapshot)) return 'overdue';
  return attempt.kind === 'running' && now.getTime() < lostAt(attempt) ? 'running' : 'lost';
}

/** How long past its end a pod may be seen before its node counts as lost. */
const LATE_MS = 10_000;

/** Milliseconds since 1970 at which a running attempt counts as lost; never, while nobody has ended its pod. */
export const lostAt = ({ endsBy }: AttemptState & { kind: 'running' }): number =>
  endsBy === undefined ? Number.POSITIVE_INFINITY : Date.parse(endsBy) + LATE_MS;

/**
 * Whether the second write of the operation's end was made. A word that someone wrote meanwhile stays, but the spec
 * that was applied must be on record whatever the word says.
 */
function isAnswered({ operation, applied, cluster, request }: Snapshot): boolean {
  if (!operation?.result || (operation.name === 'delete' && operation.result === 'finished')) return false;
  const onRecord =
    operation.result !== 'finished' || canonicalJson(applied) === canonicalJson(operation.spec);
  if (request) {
    const same = request.word === operation.word && request.requestId === operation.requestId;
    return onRecord && !(same && request.specHash === operation.specHash);
  }
  return (
    onRecord &&
    cluster.metadata.annotations?.[annotations.operation] === WORDS[operation.name][operation.result]
  );
}

function restSignal(snapshot: Snapshot): Signal {
  const { cluster, request, applied, binding, attempts, kubeconfig } = snapshot;
  if (attempts.some(({ job }) => kubeconfig.kind === 'present' || !job.startsWith('fetch-'))) return 'untidy';
  if (binding.kind === 'ours' && !snapshot.adopted) return 'unbound';
  if (snapshot.malformed) return 'invalid';
  if (request) return requestSignal(snapshot);
  if (!applied) return 'quiet';
  if (snapshot.problems.length > 0) return 'invalid';
  const inference = infer(applied, cluster.spec);
  if (inference.kind === 'needs-confirmation') return 'unconfirmed';
  if (inference.kind === 'not-offered') return 'not-offered';
  const hash = specHashOf(cluster.spec);
  const tried = cluster.status?.requests?.some(({ specHash }) => specHash === hash);
  if (inference.kind === 'operation') {
    // Of one that was tried and failed, its failure says more than that it is not tried again.
    if (tried) return snapshot.operation?.result === 'failed' ? 'quiet' : 'unconfirmed';
    return cluster.spec.paused ? 'paused' : 'declared';
  }
  return kubeconfig.kind === 'present' ? 'quiet' : 'keyless';
}

function requestSignal(snapshot: Snapshot): Signal {
  const { request, cluster, applied, binding } = snapshot;
  if (!isNew(snapshot) || (request?.word === WORDS.create.asked && applied)) return 'answered';
  if (!findOperation(request?.operation)) return 'not-offered';
  if (cluster.spec.paused) return 'paused';
  return binding.kind === 'unbound' || !snapshot.adopted ? 'unbound' : 'asked';
}

/** The id of a request to delete: whoever retries a deletion changes it, whatever word stands beside it. */
export const deletionRequestId = (cluster: Snapshot['cluster']): string =>
  cluster.metadata.annotations?.[annotations.requestId] ?? '';

const isNewDeletion = ({ cluster }: Snapshot): boolean =>
  !cluster.status?.requests?.some(
    ({ word, requestId }) => word === WORDS.delete.asked && requestId === deletionRequestId(cluster),
  );

/** Whether the request in the annotation was never accepted. */
function isNew({ request, cluster }: Snapshot): boolean {
  return (
    request !== undefined &&
    !cluster.status?.requests?.some(
      ({ word, requestId, specHash }) =>
        word === request.word && requestId === request.requestId && specHash === request.specHash,
    )
  );
}

/** The word in the annotation, unless it is a result or nothing. */
export const askedWord = (word: string | undefined): string | undefined =>
  word === undefined || word === '' || isResultWord(word) ? undefined : word;
