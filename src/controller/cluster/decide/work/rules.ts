import { operationUnderWay } from '#api/cluster-facts.ts';
import { stateOf } from '#api/host-record.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { Phase } from '#api/operation-values.ts';
import type { AttemptRef, AttemptState } from '#installer/installer.ts';
import type { Operation } from '#operations/operation.ts';
import { CANCELLED } from '#protocol/report.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import { cancelled } from '../cancelled.ts';
import { FINISHING, hooksHaveBegun } from '../due-hook.ts';
import { obtainKubeconfig } from '../fetch-kubeconfig.ts';
import { afterFailure, hasBegun, hostRecordWrites, touchedBy } from '../host-records.ts';
import { isOutdated, pointsTo } from '../kubeconfig.ts';
import { leavingBy } from '../leaving.ts';
import { type Effect, type Outcome, textOfBlock, textOfProblems } from '../outcome.ts';
import { runOf } from '../run-spec.ts';
import type { Snapshot } from '../snapshot.ts';
import { deadlineOf, goneAt, isFirstToBegin, lostAt } from '../times.ts';

const MAX_ATTEMPTS = 3;
/** Returns the pause after a lost attempt: 5 s after the first, 15 s after the second. */
const retryDelayMs = (attempt: number): number => 5_000 * 3 ** (attempt - 1);
/** Interval of the checks of a run that cannot begin. */
const BLOCKED_MS = 5_000;
/** Interval of the checks of pods of removed hooks. */
const LEAVING_MS = 1_000;

export interface Work {
  operation: Operation;
  status: OperationStatus;
}
export type WorkRule = (snapshot: Snapshot, work: Work) => Outcome;

/** Returns the phase at a step. A cluster that is being deleted has the phase of deletion from the first moment. */
const phaseAt = (operation: Operation, step: string, attempt: number): Phase =>
  operation.name !== 'delete' && attempt === 1 && (step === 'starting' || step === 'precheck')
    ? 'Prechecking'
    : operation.phase;

/** Returns the name of an attempt's Job. */
export const jobName = (prefix: string, { id, attempt }: Pick<OperationStatus, 'id' | 'attempt'>): string =>
  `${prefix}-${id}-${attempt}`;

/**
 * Waits for the plan until the deadline. The plan is written before status, so a cluster state Secret without it is older
 * than status, or was edited.
 */
function withoutPlan({ now }: Snapshot, status: OperationStatus): Outcome {
  const reason = 'PlanMissing';
  const message = 'the plan of the operation is not on record, and nothing is done without it';
  return now.getTime() < deadlineOf(status)
    ? { kind: 'wait', ms: 1_000, stall: { reason, message } }
    : { kind: 'end', result: 'failed', reason, message };
}

/**
 * Returns what keeps a run or a hook from beginning; undefined if it may begin. `others` must be gone first. A removed hook
 * is awaited until its pod has ended, because no fence stops it.
 */
export function heldBack(
  snapshot: Snapshot,
  status: OperationStatus,
  others: readonly AttemptRef[],
): Outcome | undefined {
  const { now, plan, turn } = snapshot;
  const waitMs = Date.parse(status.notBefore ?? '') - now.getTime();
  if (waitMs > 0) return { kind: 'wait', ms: waitMs };
  if (!plan) return withoutPlan(snapshot, status);
  if (plan.refusals.length > 0)
    return { kind: 'end', result: 'failed', reason: 'InvalidSpec', message: textOfProblems(plan.refusals) };
  const left = others.filter(({ leavesBy }) => leavesBy === undefined);
  if (left.length > 0) return { kind: 'act', effects: [{ kind: 'discard', attempts: left }] };
  // After the earlier runs are removed, so that a deletion ends a running attempt at once.
  if (turn.kind === 'waits') return { kind: 'rest', turn };
  const leavesMs = Math.max(...others.map((one) => goneAt(one) - now.getTime()));
  return leavesMs > 0 ? { kind: 'wait', ms: Math.min(leavesMs, LEAVING_MS), keepsPlace: true } : undefined;
}

/** Returns the seconds left of an operation. The first run or hook has all of the time, however long it waited before. */
export function secondsLeft({ now }: Snapshot, status: OperationStatus): number {
  const deadline = deadlineOf(isFirstToBegin(status) ? { ...status, startedAt: now.toISOString() } : status);
  return Math.max(1, Math.ceil((deadline - now.getTime()) / 1000));
}

/** Returns what the run does with snapshots. */
function snapshotTask(
  { snapshot }: Operation,
  { spec, snapshot: name }: OperationStatus,
): Pick<RunSpec, 'snapshot'> {
  if (snapshot === 'save') return { snapshot: { task: 'save', keep: spec.etcdSnapshots?.keep ?? {} } };
  return snapshot === 'load' && name !== undefined ? { snapshot: { task: 'load', name } } : {};
}

export const start: WorkRule = (snapshot, { operation, status }) => {
  const { attempts, plan, hosts } = snapshot;
  const job = jobName(operation.prefix, status);
  // After a crash the Secret of this attempt may exist while its Job does not yet.
  const back = heldBack(
    snapshot,
    status,
    attempts.filter((one) => one.job !== job),
  );
  if (back || !plan) return back ?? { kind: 'rest' };
  const effects: Effect[] = [];
  const held = new Map(hosts.map((record) => [record.spec.ip, record]));
  const given = plan.release.filter((ip) => held.has(ip));
  if (given.length > 0) effects.push({ kind: 'release', hosts: given });
  const joining = plan.hosts.filter(({ action }) => action === 'join').map(({ member: host }) => host);
  if (joining.length > 0) effects.push({ kind: 'hold', hosts: joining });
  const leaving = plan.hosts.flatMap(({ action, member: host }) => {
    const record = action === 'leave' ? held.get(host.ip) : undefined;
    return record && stateOf(record) === 'Joined' ? [{ ip: host.ip, status: leavingBy(status) }] : [];
  });
  if (leaving.length > 0) effects.push({ kind: 'note', hosts: leaving });
  const attempt = runOf(snapshot, plan, {
    job,
    attempt: status.attempt,
    deadlineSeconds: secondsLeft(snapshot, status),
    task: operation.name,
    callback: operation.callback,
    ...(operation.playbook === undefined ? {} : { playbook: operation.playbook }),
    ...snapshotTask(operation, status),
    precheck: operation.precheck,
    brings: [...operation.brings],
  });
  // The record precedes the Job: once the Job exists, this rule does not run again.
  const [first, ...more]: Effect[] = [...effects, { kind: 'record', result: 'running' }];
  if (!first) return { kind: 'rest' };
  return { kind: 'act', effects: [first, ...more, { kind: 'start', attempt }] };
};

export const begin: WorkRule = ({ attempt, now }, { operation, status }) => {
  const step = attempt.kind === 'running' ? (attempt.step ?? 'precheck') : 'running';
  const to = phaseAt(operation, step, status.attempt);
  // The deadline covers the work; time held before the first attempt does not count.
  const startedAt = isFirstToBegin(status) ? now.toISOString() : status.startedAt;
  return { kind: 'move', to, because: 'the run was seen', operation: { step, startedAt } };
};

export const follow: WorkRule = (snapshot, { operation, status }) => {
  const { attempt } = snapshot;
  const step = attempt.kind === 'running' ? attempt.step : undefined;
  if (step !== undefined && step !== status.step) {
    const to = phaseAt(operation, step, status.attempt);
    return { kind: 'move', to, because: `step ${step}`, operation: { step } };
  }
  return awaitEnd(snapshot, attempt, status);
};

/** Waits for a running run or hook; if its pod cannot start, the stall says why. */
export function awaitEnd({ now }: Snapshot, state: AttemptState, status: OperationStatus): Outcome {
  const until = Math.min(deadlineOf(status), state.kind === 'running' ? lostAt(state) : Infinity);
  const ms = Math.max(1_000, until - now.getTime());
  if (state.kind === 'running' && state.blocked) {
    const stall = { reason: 'RunBlocked', message: `its pod cannot start: ${textOfBlock(state.blocked)}` };
    return { kind: 'wait', ms: Math.min(ms, BLOCKED_MS), stall };
  }
  // Until the run has reported a step, no event may show what blocks it, such as a quota.
  const isSilent = state.kind !== 'running' || state.step === undefined;
  return { kind: 'wait', ms: isSilent ? Math.min(ms, BLOCKED_MS) : ms };
}

export const retryLost: WorkRule = (snapshot, { operation, status }) => {
  const { attempt, now } = snapshot;
  const why =
    attempt.kind === 'lost'
      ? attempt.why
      : attempt.kind === 'running'
        ? attempt.blocked?.outdated
          ? `its pod could not start (${attempt.blocked.reason}), and Jobs are made with another image now`
          : 'its node does not answer'
        : 'its Job is gone';
  const [touched, ...more] = touchedBy(snapshot);
  if (touched) return { kind: 'act', effects: [touched, ...more] };
  if (status.attempt >= MAX_ATTEMPTS) {
    const message = `${MAX_ATTEMPTS} attempts were lost; the last: ${why}`;
    return { kind: 'end', result: 'failed', reason: 'Lost', message };
  }
  const notBefore = new Date(now.getTime() + retryDelayMs(status.attempt)).toISOString();
  return {
    kind: 'move',
    to: operation.phase,
    because: `attempt ${status.attempt} was lost: ${why}`,
    operation: { attempt: status.attempt + 1, step: 'starting', notBefore },
  };
};

export const exceedDeadline: WorkRule = (snapshot, { status }) => {
  const { attempt, hook } = snapshot;
  const begun = hasBegun(attempt, status) || hooksHaveBegun(hook, status);
  const [touched, ...more] = begun ? touchedBy(snapshot) : [];
  if (touched) return { kind: 'act', effects: [touched, ...more] };
  const message = `not done within ${status.spec.cluster.timeout_mins ?? '60'} minutes (spec.cluster.timeout_mins)`;
  return { kind: 'end', result: 'failed', reason: 'DeadlineExceeded', message };
};

export const succeed: WorkRule = (snapshot, { operation, status }) => {
  const { attempt, kubeconfig, now } = snapshot;
  if (!snapshot.plan) return withoutPlan(snapshot, status);
  const report = attempt.kind === 'succeeded' ? attempt.report : undefined;
  const hosts = hostRecordWrites(snapshot, operation);
  if (hosts) return hosts;
  // The cluster is not reachable through a control plane that has left.
  const left = snapshot.plan.hosts.flatMap(({ action, member: host }) =>
    action === 'leave' ? [host.ip] : [],
  );
  const open =
    operation.brings.includes('kubeconfig') &&
    (kubeconfig.kind !== 'present' ||
      pointsTo(kubeconfig, left) ||
      isOutdated(kubeconfig, report?.kubeconfig, now, operation.renewsKubeconfig))
      ? obtainKubeconfig(snapshot, report)
      : undefined;
  if (open && open.kind !== 'act' && now.getTime() >= deadlineOf(status)) {
    const why =
      'stall' in open && open.stall
        ? open.stall
        : { reason: 'KubeconfigMissing', message: 'no kubeconfig could be fetched' };
    const message = `the work was done, but ${why.message}`;
    return { kind: 'end', result: 'failed', reason: why.reason, message };
  }
  if (open) return open;
  if (snapshot.plan.hooks.some(({ time }) => time === 'post'))
    // Recorded before the hooks begin: whatever happens to their Jobs, the run is not repeated.
    return {
      kind: 'move',
      to: operation.phase,
      because: 'its work is done, and hooks follow',
      operation: { step: FINISHING },
    };
  return { kind: 'end', result: 'finished', reason: '', message: '' };
};

/** Records a failed attempt. Hosts that joined in it are part of the cluster. */
export const failAttempt: WorkRule = (snapshot, { operation, status }) => {
  if (!snapshot.plan) return withoutPlan(snapshot, status);
  const { attempt, cluster } = snapshot;
  if (attempt.kind !== 'failed' || !operationUnderWay(cluster)) return { kind: 'rest' };
  const effects = afterFailure(snapshot, operation);
  if (effects) return effects;
  // The next operation then has a later sequence than the hosts know.
  const hostsAt = attempt.report?.hostsAt ?? 0;
  if (snapshot.sequence !== undefined && snapshot.sequence < hostsAt)
    return { kind: 'act', effects: [{ kind: 'raise-sequence', to: hostsAt }] };
  if (status.cancelledAt !== undefined && attempt.reason === CANCELLED)
    return cancelled(snapshot, status, attempt.message);
  return { kind: 'end', result: 'failed', reason: attempt.reason, message: attempt.message };
};
