import type { Phase } from '#api/words.ts';
import * as attempts from './attempt-rules.ts';
import type { Outcome } from './outcome.ts';
import * as rules from './rules.ts';
import { obtainKubeconfig } from './settle.ts';
import { type Signal, signalOf } from './signal.ts';
import type { Snapshot } from './snapshot.ts';

type Row = Record<Signal, rules.Rule>;

/** What holds in every phase: identity and deletion come before all else. */
const always = {
  conflict: rules.conflict,
  forgotten: rules.letGo,
  deleted: rules.acceptDeletion,
  ended: rules.tellEnd,
} as const;

/** Nothing runs: what is asked or declared is looked at. */
const atRest = {
  untidy: rules.tidy,
  paused: rules.paused,
  unbound: rules.bind,
  answered: rules.answerAgain,
  asked: rules.accept,
  declared: rules.acceptDeclared,
  unconfirmed: rules.unconfirmed,
  'not-offered': rules.notOffered,
  invalid: rules.invalid,
  keyless: (snapshot: Snapshot) => obtainKubeconfig(snapshot),
  quiet: rules.rest,
} as const;

/** An operation runs: only its attempt counts. */
const underWay = {
  overdue: attempts.giveUp,
  starting: attempts.start,
  started: attempts.begin,
  running: attempts.follow,
  lost: attempts.retryLost,
  succeeded: attempts.succeed,
  failed: attempts.failAttempt,
} as const;

const whole: Row = { ...always, ...atRest, ...underWay };

/** Signals of a running operation, in a phase where none can run. */
const noneRuns: Row = {
  ...whole,
  overdue: rules.unexpected,
  starting: rules.unexpected,
  started: rules.unexpected,
  running: rules.unexpected,
  lost: rules.unexpected,
  succeeded: rules.unexpected,
  failed: rules.unexpected,
};

/** Signals of rest, in a phase where an operation runs: only `paused` can hold what has not begun. */
const oneRuns: Row = {
  ...whole,
  untidy: rules.unexpected,
  unbound: rules.unexpected,
  answered: rules.unexpected,
  asked: rules.unexpected,
  declared: rules.unexpected,
  unconfirmed: rules.unexpected,
  'not-offered': rules.unexpected,
  invalid: rules.unexpected,
  keyless: rules.unexpected,
};

/** The life of a cluster. Record, not Partial: silence is written down. */
const lifecycle: Record<Phase, Row> = {
  '': noneRuns,
  Running: noneRuns,
  Failed: noneRuns,
  Prechecking: oneRuns,
  Creating: oneRuns,
  Scaling: oneRuns,
  Updating: oneRuns,
  Maintaining: oneRuns,
  Terminating: oneRuns,
};

/** What happens next, and why it is that. */
export function decide(snapshot: Snapshot): { signal: Signal; outcome: Outcome } {
  const signal = signalOf(snapshot);
  return { signal, outcome: lifecycle[snapshot.cluster.status?.phase ?? ''][signal](snapshot) };
}
