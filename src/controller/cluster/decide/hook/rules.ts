import { hookField, hookStep } from '#operations/hooks.ts';
import { HOOK, HOOK_FAILED } from '#protocol/hook.ts';
import { describeFile } from '#protocol/manifests.ts';
import { cancelled } from '../cancelled.ts';
import { FINISHING, hooksHaveBegun, type SeenHook } from '../due-hook.ts';
import { touchedBy } from '../host-records.ts';
import type { Effect, Outcome } from '../outcome.ts';
import { runOf } from '../run-spec.ts';
import type { Snapshot } from '../snapshot.ts';
import { isFirstToBegin } from '../times.ts';
import { awaitEnd, heldBack, secondsLeft, type Work, type WorkRule } from '../work/rules.ts';

/** Rules of hooks, the user's playbooks around a run: one Job for each hook, and nothing runs beside it. */

/** Applies a rule to the hook of the snapshot. Every hook signal implies such a hook. */
const ofHook =
  (rule: (snapshot: Snapshot, seen: SeenHook, work: Work) => Outcome): WorkRule =>
  (snapshot, work) =>
    snapshot.hook ? rule(snapshot, snapshot.hook, work) : { kind: 'rest' };

/** Returns the hook as messages name it: its place, ConfigMap and key. */
const describeHook = ({ hook }: SeenHook): string =>
  `${hookField(hook)} (${describeFile(`${hook.configMap}/${hook.key}`)})`;

/** Returns the phase at a hook: `Prechecking` until the run itself begins. */
const phaseAt = ({ hook }: SeenHook, { operation }: Work) =>
  hook.time === 'pre' ? ('Prechecking' as const) : operation.phase;

/** Starts the Job of a hook. Hosts are held first, as for the run. Before a `post` hook the run and its report stay. */
export const startHook = ofHook((snapshot, seen, { status }) => {
  const { plan, attempts, offer } = snapshot;
  const { hook, job } = seen;
  const others = attempts.filter((one) => one.job !== job && (hook.time === 'pre' || one.auxiliary === HOOK));
  const held = heldBack(snapshot, status, others);
  if (held || !plan) return held ?? { kind: 'rest' };
  if (offer.hooks !== true) {
    const message = `${describeHook(seen)} is not run: the operator was started without --allow-hooks`;
    return { kind: 'end', result: 'failed', reason: 'HooksOff', message };
  }
  const attempt = runOf(
    snapshot,
    { hosts: plan.hosts, steps: [] },
    {
      job,
      attempt: status.attempt,
      deadlineSeconds: secondsLeft(snapshot, status),
      auxiliary: HOOK,
      task: hook.name,
      callback: HOOK,
      precheck: 'reach',
      brings: [],
    },
  );
  const run: Effect = { kind: 'hook', hook, attempt };
  if (hook.time === 'post') return { kind: 'act', effects: [run] };
  const joining = plan.hosts.filter(({ action }) => action === 'join').map(({ member: host }) => host);
  const record: Effect = { kind: 'record', result: 'running' };
  return joining.length > 0
    ? { kind: 'act', effects: [{ kind: 'hold', hosts: joining }, record, run] }
    : { kind: 'act', effects: [record, run] };
});

/** Moves to the hook's step. From then on its Job must exist; a missing Job counts as lost. */
export const beginHook = ofHook(({ now }, seen, work) => ({
  kind: 'move',
  to: phaseAt(seen, work),
  because: `${describeHook(seen)} was started`,
  operation: {
    step: hookStep(seen.hook),
    startedAt: isFirstToBegin(work.status) ? now.toISOString() : work.status.startedAt,
  },
}));

export const followHook = ofHook((snapshot, { state }, { status }) => awaitEnd(snapshot, state, status));

/** Counts the hook as done before anything follows, so that it does not run again. */
export const finishHook = ofHook(({ plan, now }, seen, work) => {
  const hooksDone = (work.status.hooksDone ?? 0) + 1;
  const isLast = plan?.hooks[hooksDone] === undefined;
  if (seen.hook.time === 'post' && isLast)
    return { kind: 'end', result: 'finished', reason: '', message: '', hooksDone };
  return {
    kind: 'move',
    to: phaseAt(seen, work),
    because: `${describeHook(seen)} is done`,
    operation: {
      hooksDone,
      step: seen.hook.time === 'pre' ? 'starting' : FINISHING,
      // The hook may have begun and ended unseen.
      startedAt: isFirstToBegin(work.status) ? now.toISOString() : work.status.startedAt,
    },
  };
});

const HOOK_LOST = 'HookLost';
/** The message of the pod comes from a user's playbook: control characters are removed and its length is bounded. */
const MAX_MESSAGE = 1_000;
const plain = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_MESSAGE);

/** Ends the operation. A hook is not retried: how far it came is unknown, and no fence stops what it left running. */
export const failHook = ofHook((snapshot, seen) => {
  const { state } = seen;
  const isCut = state.kind === 'failed' && state.reason === 'DeadlineExceeded';
  if (state.kind === 'failed' && !isCut)
    return {
      kind: 'end',
      result: 'failed',
      reason: HOOK_FAILED,
      message: `${describeHook(seen)}: ${plain(state.message)}`,
    };
  if (state.kind === 'running' && state.blocked) {
    const message = `${describeHook(seen)} could not start (${state.blocked.reason}), and Jobs are made with another image now`;
    return { kind: 'end', result: 'failed', reason: HOOK_LOST, message };
  }
  const [touched, ...more] = touchedBy(snapshot);
  if (touched) return { kind: 'act', effects: [touched, ...more] };
  const why =
    state.kind === 'lost'
      ? state.why
      : state.kind === 'failed'
        ? 'its time was over'
        : state.kind === 'running'
          ? 'its node does not answer'
          : 'its Job is gone';
  const message = `${describeHook(seen)} did not say how it ended: ${plain(why)}; each host counts as changed`;
  return { kind: 'end', result: 'failed', reason: HOOK_LOST, message };
});

/** Removes the Job of a cancelled hook. A hook receives no notice of a cancellation. */
export const cancelHook = ofHook((snapshot, seen, { status }) => {
  const left = snapshot.attempts.filter(({ job, leavesBy }) => job === seen.job && leavesBy === undefined);
  const begun = hooksHaveBegun(seen, status);
  const [first, ...others]: Effect[] = [
    ...(begun ? touchedBy(snapshot) : []),
    ...(left.length > 0 ? [{ kind: 'discard' as const, attempts: left }] : []),
  ];
  if (first) return { kind: 'act', effects: [first, ...others] };
  const before = seen.hook.time === 'pre' ? 'no run of it was begun' : 'its run was done';
  return cancelled(snapshot, status, `${before}; ${describeHook(seen)} did not end`);
});
