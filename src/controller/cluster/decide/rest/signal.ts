import { isDryRun } from '#api/cluster-facts.ts';
import { finalizerOf } from '#api/names.ts';
import { OPERATION_VALUES, type Phase } from '#api/operation-values.ts';
import type { AttemptRef } from '#installer/installer.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import { HOOK } from '#protocol/hook.ts';
import { isAgreed } from '../approved-plan.ts';
import { isAnswered, isNew, isNewDeletion, wasTried } from '../requests.ts';
import { inFlight, PRECHECK, type Snapshot } from '../snapshot.ts';
import { awaitsRenewal, hasExpiredCertificates, renewalDueAt } from './auto-renew.ts';
import { duePointing } from './point-kubeconfig.ts';
import { dueRemediation } from './remediation.ts';
import { dueReset } from './reset-left.ts';
import { isSnapshotDue, snapshotDueAt } from './scheduled-snapshot.ts';

/** The fact that decides what happens next while no operation is under way, or none counts. */
export type RestSignal =
  /** The cluster-id belongs to another object, or its cluster state Secret is missing. */
  | 'identity-conflict'
  /** The object is deleted, and the cluster holds no host: nothing is to be reset. */
  | 'nothing-to-reset'
  /** The object is deleted; the delete operation is not accepted yet. */
  | 'deleted'
  /** The phase and the operation in status contradict each other: one is under way, the other is not. */
  | 'phase-mismatch'
  /** Status has the result; the record and the annotations do not have it yet. */
  | 'result-unrecorded'
  /** Jobs of ended operations still exist. */
  | 'leftovers'
  /** An operation would start, but spec.paused is set. */
  | 'paused'
  /** The first request, or the finalizer or the id was removed. */
  | 'unbound'
  /** The request in the annotation was carried out before. */
  | 'already-done'
  /** The operation annotation asks for something new. */
  | 'requested'
  /** The spec was edited, and the operation for that starts by itself. */
  | 'spec-edited'
  /** `requested` or `spec-edited`, with annotation `dry-run`. */
  | 'dry-run'
  /** `requested` or `spec-edited`, and the plan changed after it was approved. */
  | 'plan-changed'
  /** The edit needs an operation annotation: its operation does not start by itself, or was tried before. */
  | 'needs-confirmation'
  | 'not-offered'
  /** The spec is malformed, or asks for the impossible. */
  | 'invalid'
  /** The cluster exists and its kubeconfig Secret does not, or names a control plane that is away. */
  | 'kubeconfig-missing'
  /** A control plane has been away long enough for a spare host to replace it. */
  | 'remediation-due'
  /** A host left without a reset, and the reset is due again. */
  | 'reset-due'
  /** Certificates end soon, and the operator renews them by itself, now or in the window of the policy. */
  | 'renewal-due'
  /** A snapshot of etcd is due by the schedule, now or later. */
  | 'snapshot-due'
  | 'idle';

const REST_PHASES: readonly Phase[] = ['', 'Running', 'Failed'];

const isDeleting = ({ cluster }: Snapshot): boolean => cluster.metadata.deletionTimestamp !== undefined;

/** Ranks the facts: identity, deletion, then requests. Returns undefined while an operation is under way. */
export function restSignalOf(snapshot: Snapshot): RestSignal | undefined {
  const { binding, operation, cluster } = snapshot;
  const held = cluster.metadata.finalizers?.includes(finalizerOf(cluster.metadata.name ?? ''));
  if (isDeleting(snapshot) && !held) return 'idle';
  if (binding.kind === 'foreign' || binding.kind === 'missing') return 'identity-conflict';
  if (isDeleting(snapshot) && hasNothingToReset(snapshot)) return 'nothing-to-reset';
  if (isDeleting(snapshot) && operation?.name !== 'delete') return 'deleted';
  if (inFlight(snapshot)) return undefined;
  if (operation && !isAnswered(snapshot)) return 'result-unrecorded';
  if (isDeleting(snapshot)) return isNewDeletion(snapshot) ? 'deleted' : 'idle';
  if (!REST_PHASES.includes(cluster.status?.phase ?? '')) return 'phase-mismatch';
  const asked = askedSignal(snapshot);
  const begins = asked === 'requested' || asked === 'spec-edited';
  if (begins && isDryRun(snapshot.cluster)) return 'dry-run';
  if (snapshot.attempts.some(({ auxiliary }) => auxiliary === PRECHECK)) return 'leftovers';
  return begins && !isAgreed(snapshot) ? 'plan-changed' : asked;
}

/**
 * Whether the cluster holds no host. A cluster holds a host before any run reaches the host. Without a held host nothing is
 * to be reset, even if a Secret, a permission or the namespace is missing. A deletion whose run was seen ends with that
 * run's report.
 */
function hasNothingToReset(snapshot: Snapshot): boolean {
  const { operation, hosts } = snapshot;
  const runs = operation?.name === 'delete' && inFlight(snapshot) && operation.step !== 'starting';
  const ended = operation?.name === 'delete' && operation.result === 'finished';
  return hosts.length === 0 && !runs && !ended;
}

/** Whether a requested operation may not begin. `spec.paused` blocks it; a dry run is allowed. */
const isHeld = (cluster: Snapshot['cluster']): boolean => cluster.spec.paused === true && !isDryRun(cluster);

/** Ranks what the object asks for, by annotation or by its spec. */
function askedSignal(snapshot: Snapshot): RestSignal {
  const { cluster, request, applied, binding, attempts, kubeconfig } = snapshot;
  const left = attempts.filter(({ auxiliary, leavesBy }) => auxiliary !== PRECHECK && leavesBy === undefined);
  const isDone = ({ auxiliary }: AttemptRef) => auxiliary === undefined || auxiliary === HOOK;
  if (left.some((one) => kubeconfig.kind === 'present' || isDone(one))) return 'leftovers';
  if (binding.kind === 'ours' && !snapshot.adopted) return 'unbound';
  if (snapshot.malformed) return 'invalid';
  if (request) return requestSignal(snapshot);
  if (!applied) return 'idle';
  // An edit that waits for a user must not cost the data.
  if (isSnapshotDue(snapshot)) return 'snapshot-due';
  if (snapshot.problems.length > 0) return 'invalid';
  const inference = infer(applied, cluster.spec);
  if (inference.kind === 'not-offered') return 'not-offered';
  // Status shows how a tried operation failed; a stall would say less.
  const hasFailed = wasTried(snapshot) && (snapshot.operation?.result ?? 'finished') !== 'finished';
  if (hasFailed && inference.kind !== 'nothing') return 'idle';
  if (inference.kind === 'needs-confirmation' || (inference.kind === 'operation' && wasTried(snapshot)))
    return 'needs-confirmation';
  if (inference.kind === 'operation') return isHeld(cluster) ? 'paused' : 'spec-edited';
  // A kubeconfig that has expired counts as missing, and only a renewal brings another.
  if (kubeconfig.kind === 'missing' && hasExpiredCertificates(snapshot) && awaitsRenewal(snapshot))
    return 'renewal-due';
  if (kubeconfig.kind !== 'present' || duePointing(snapshot)) return 'kubeconfig-missing';
  if (dueRemediation(snapshot)) return 'remediation-due';
  if (dueReset(snapshot)) return 'reset-due';
  return nextUpkeep(snapshot);
}

/** Returns what the operator does next by itself, the earlier of both. */
function nextUpkeep(snapshot: Snapshot): RestSignal {
  const [renewal, saving] = [renewalDueAt(snapshot), snapshotDueAt(snapshot)];
  if (saving && (!renewal || saving < renewal)) return 'snapshot-due';
  return renewal ? 'renewal-due' : 'idle';
}

function requestSignal(snapshot: Snapshot): RestSignal {
  const { request, cluster, applied, binding } = snapshot;
  if (!isNew(snapshot) || (request?.word === OPERATION_VALUES.create.asked && applied)) return 'already-done';
  if (!findOperation(request?.operation)) return 'not-offered';
  if (isHeld(cluster)) return 'paused';
  return binding.kind === 'unbound' || !snapshot.adopted ? 'unbound' : 'requested';
}
