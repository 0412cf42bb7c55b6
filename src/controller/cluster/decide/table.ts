import { operationUnderWay } from '#api/cluster-facts.ts';
import type { Phase } from '#api/words.ts';
import { findOperation } from '#operations/index.ts';
import { notAgreed } from './agreed.ts';
import * as cancel from './cancel-rules.ts';
import * as hooks from './hook-rules.ts';
import type { Outcome } from './outcome.ts';
import { applyRemedy } from './remedy.ts';
import { acceptReset, restUntilReset } from './reset-left.ts';
import * as rules from './rules.ts';
import { type RestSignal, restSignalOf, type WorkSignal, workSignalOf } from './signal.ts';
import type { Snapshot } from './snapshot.ts';
import * as work from './work-rules.ts';

/** No operation is under way, or what comes before all else: identity and deletion. */
const atRest: Record<RestSignal, rules.Rule> = {
  conflict: rules.conflict,
  forgotten: rules.letGo,
  deleted: rules.acceptDeletion,
  misfit: rules.misfit,
  ended: rules.tellEnd,
  untidy: rules.tidy,
  paused: rules.paused,
  unbound: rules.bind,
  answered: rules.answerAgain,
  asked: rules.accept,
  declared: rules.acceptDeclared,
  rehearsed: rules.planOnly,
  replanned: notAgreed,
  unconfirmed: rules.unconfirmed,
  'not-offered': rules.notOffered,
  invalid: rules.invalid,
  keyless: rules.mendKubeconfig,
  remedied: applyRemedy,
  unreset: acceptReset,
  quiet: restUntilReset,
};

/** An operation is under way: only its attempt counts, and its hooks. */
const underWay: Record<WorkSignal, work.WorkRule> = {
  starting: work.start,
  held: rules.paused,
  started: work.begin,
  running: work.follow,
  lost: work.retryLost,
  overdue: work.giveUp,
  withdrawn: cancel.withdraw,
  cancelled: cancel.tellRun,
  stopping: cancel.awaitReport,
  cut: cancel.cutOff,
  succeeded: work.succeed,
  failed: work.failAttempt,
  'hook-due': hooks.startHook,
  'hook-started': hooks.beginHook,
  'hook-running': hooks.followHook,
  'hook-done': hooks.countHook,
  'hook-failed': hooks.failHook,
  'hook-cut': hooks.cutHook,
};

const AT_REST: readonly Phase[] = ['', 'Running', 'Failed'];

/** What happens next, and why it is that. */
export function decide(snapshot: Snapshot): { signal: RestSignal | WorkSignal; outcome: Outcome } {
  const first = restSignalOf(snapshot);
  const status = operationUnderWay(snapshot.cluster);
  if (first !== undefined || !status) {
    const signal = first ?? 'quiet';
    return { signal, outcome: atRest[signal](snapshot) };
  }
  const operation = findOperation(status.name);
  // Somebody edited status: an operation that is none, or one under way in a phase of rest.
  if (!operation || AT_REST.includes(snapshot.cluster.status?.phase ?? ''))
    return { signal: 'misfit', outcome: rules.misfit(snapshot) };
  const signal = workSignalOf(snapshot, status);
  return { signal, outcome: underWay[signal](snapshot, { operation, status }) };
}
