/**
 * Decides what happens next to a cluster: a snapshot is reduced to one signal, and the signal's rule returns an outcome. No
 * I/O.
 */

import { operationUnderWay } from '#api/cluster-facts.ts';
import type { Phase } from '#api/operation-values.ts';
import { findOperation } from '#operations/index.ts';
import { notAgreed } from './approved-plan.ts';
import * as cancel from './cancel/rules.ts';
import * as hooks from './hook/rules.ts';
import type { Outcome } from './outcome.ts';
import { autoRenew } from './rest/auto-renew.ts';
import { applyRemediation } from './rest/remediation.ts';
import { acceptReset, restUntilReset } from './rest/reset-left.ts';
import * as rules from './rest/rules.ts';
import { scheduledSnapshot } from './rest/scheduled-snapshot.ts';
import { type RestSignal, restSignalOf } from './rest/signal.ts';
import type { Snapshot } from './snapshot.ts';
import * as work from './work/rules.ts';
import { type WorkSignal, workSignalOf } from './work/signal.ts';

/** Rules while no operation is under way, and for identity and deletion, which come first. */
const atRest: Record<RestSignal, rules.Rule> = {
  'identity-conflict': rules.conflict,
  'nothing-to-reset': rules.letGo,
  deleted: rules.acceptDeletion,
  'phase-mismatch': rules.phaseMismatch,
  'result-unrecorded': rules.recordResult,
  leftovers: rules.removeLeftovers,
  paused: rules.paused,
  unbound: rules.bind,
  'already-done': rules.answerAgain,
  requested: rules.accept,
  'spec-edited': rules.acceptDeclared,
  'dry-run': rules.dryRun,
  'plan-changed': notAgreed,
  'needs-confirmation': rules.unconfirmed,
  'not-offered': rules.notOffered,
  invalid: rules.invalid,
  'kubeconfig-missing': rules.mendKubeconfig,
  'remediation-due': applyRemediation,
  'reset-due': acceptReset,
  'renewal-due': autoRenew,
  'snapshot-due': scheduledSnapshot,
  idle: restUntilReset,
};

/** Rules while an operation is under way: only its attempt and its hooks count. */
const underWay: Record<WorkSignal, work.WorkRule> = {
  starting: work.start,
  paused: rules.paused,
  started: work.begin,
  running: work.follow,
  lost: work.retryLost,
  'deadline-exceeded': work.exceedDeadline,
  'cancelled-before-run': cancel.endBeforeRun,
  cancelled: cancel.reportRun,
  stopping: cancel.awaitReport,
  'stop-overdue': cancel.endOverdue,
  succeeded: work.succeed,
  failed: work.failAttempt,
  'hook-due': hooks.startHook,
  'hook-started': hooks.beginHook,
  'hook-running': hooks.followHook,
  'hook-done': hooks.finishHook,
  'hook-failed': hooks.failHook,
  'hook-cancelled': hooks.cancelHook,
};

const AT_REST: readonly Phase[] = ['', 'Running', 'Failed'];

/** Decides what happens next, and returns the signal with it. */
export function decide(snapshot: Snapshot): { signal: RestSignal | WorkSignal; outcome: Outcome } {
  const first = restSignalOf(snapshot);
  const status = operationUnderWay(snapshot.cluster);
  if (first !== undefined || !status) {
    const signal = first ?? 'idle';
    return { signal, outcome: atRest[signal](snapshot) };
  }
  const operation = findOperation(status.name);
  // A user edited status: the operation does not exist, or it is under way in a phase of rest.
  if (!operation || AT_REST.includes(snapshot.cluster.status?.phase ?? ''))
    return { signal: 'phase-mismatch', outcome: rules.phaseMismatch(snapshot) };
  const signal = workSignalOf(snapshot, status);
  return { signal, outcome: underWay[signal](snapshot, { operation, status }) };
}
