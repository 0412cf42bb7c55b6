import type { OperationStatus, Spec } from '#api/kubernetes-cluster.ts';
import type { Phase } from '#api/words.ts';
import { findOperation } from '#operations/index.ts';
import { type Member, membersOf } from '#operations/members.ts';
import type { Operation, Situation } from '#operations/operation.ts';
import type { Effect, Outcome } from './outcome.ts';
import { type Rule, textOfProblems, unexpected } from './rules.ts';
import { settle } from './settle.ts';
import { deadlineOf, lostAt } from './signal.ts';
import type { Snapshot } from './snapshot.ts';

const MAX_ATTEMPTS = 3;
/** An attempt that was lost is followed after 5 s, then after 15 s. */
const retryDelayMs = (attempt: number): number => 5_000 * 3 ** (attempt - 1);

/** What the phase says at a step; a cluster that is being deleted says so from the first moment. */
const phaseAt = (operation: Operation, step: string, attempt: number): Phase =>
  operation.name !== 'delete' && attempt === 1 && (step === 'starting' || step === 'precheck')
    ? 'Prechecking'
    : operation.phase;

const situationOf = ({ operation, cluster, applied, claims }: Snapshot): Situation => ({
  spec: operation?.spec ?? cluster.spec,
  applied,
  claimed: claims.map((claim) => ({
    ...claim,
    host: reachedAs(claim.host, operation?.spec ?? cluster.spec),
  })),
});

/** How to reach a host may change from one operation to the next; a claim only remembers how it was. */
function reachedAs(host: Member, { cluster }: Spec): Member {
  const entry = membersOf(cluster).get(host.ip);
  if (!entry) return host;
  const { port: _port, user: _user, ...rest } = host;
  const { port, user } = entry;
  return { ...rest, ...(port === undefined ? {} : { port }), ...(user === undefined ? {} : { user }) };
}

interface Current {
  operation: Operation;
  status: OperationStatus;
}

/** A rule for an operation that is under way; without one there is nothing to do. */
const during =
  (rule: (snapshot: Snapshot, current: Current) => Outcome): Rule =>
  (snapshot) => {
    const operation = findOperation(snapshot.operation?.name);
    return operation && snapshot.operation
      ? rule(snapshot, { operation, status: snapshot.operation })
      : unexpected(snapshot);
  };

export const start = during((snapshot, { operation, status }) => {
  const { now, attempts, claims, clusterId, cluster } = snapshot;
  const waitMs = Date.parse(status.notBefore ?? '') - now.getTime();
  if (waitMs > 0) return { kind: 'wait', ms: waitMs };
  const situation = situationOf(snapshot);
  const problems = operation.name === 'delete' ? [] : [...snapshot.problems, ...operation.check(situation)];
  if (problems.length > 0) {
    return { kind: 'fail', reason: 'InvalidSpec', message: textOfProblems(problems) };
  }
  const job = jobName(operation.prefix, status);
  // Of this attempt there may be the Secret and, after a crash, not yet the Job.
  const others = attempts.filter((one) => one.job !== job);
  if (others.length > 0) return { kind: 'act', effects: [{ kind: 'discard', attempts: others }] };
  const plan = operation.hosts(situation);
  const held = new Set(claims.map(({ host }) => host.ip));
  const unclaimed = plan.joining.filter(({ ip }) => !held.has(ip));
  // Said by the host's entry now, or found when its claim was taken.
  const reclaims = new Map([
    ...claims.flatMap(({ host, reclaims: id }) => (id === undefined ? [] : [[host.ip, id] as const])),
    ...plan.joining.flatMap(({ ip, reclaim }) => (reclaim === undefined ? [] : [[ip, reclaim] as const])),
  ]);
  const attempt = {
    clusterId,
    sequence: status.sequence,
    attempt: status.attempt,
    job,
    cluster: { namespace: cluster.metadata.namespace ?? '', name: cluster.metadata.name ?? '' },
    operation: operation.name,
    spec: status.spec,
    plan,
    reclaims,
    deadlineSeconds: Math.max(1, Math.ceil((deadlineOf(snapshot) - now.getTime()) / 1000)),
  };
  // The record before the Job: once that is there, nothing comes back here for it.
  const begin: [Effect, Effect] = [
    { kind: 'record', result: 'running' },
    { kind: 'start', attempt },
  ];
  return {
    kind: 'act',
    effects: unclaimed.length > 0 ? [{ kind: 'claim', hosts: unclaimed }, ...begin] : begin,
  };
});

export const jobName = (prefix: string, { id, attempt }: Pick<OperationStatus, 'id' | 'attempt'>): string =>
  `${prefix}-${id}-${attempt}`;

export const begin = during(({ attempt, now }, { operation, status }) => {
  const step = attempt.kind === 'running' ? (attempt.step ?? 'precheck') : 'running';
  const to = phaseAt(operation, step, status.attempt);
  // The deadline is for the work: what was held before its first attempt does not count.
  const startedAt = status.attempt === 1 ? now.toISOString() : status.startedAt;
  return { kind: 'move', to, because: 'the attempt was seen', operation: { step, startedAt } };
});

export const follow = during((snapshot, { operation, status }) => {
  const { attempt, now } = snapshot;
  const step = attempt.kind === 'running' ? attempt.step : undefined;
  if (step !== undefined && step !== status.step) {
    const to = phaseAt(operation, step, status.attempt);
    return { kind: 'move', to, because: `step ${step}`, operation: { step } };
  }
  const until = Math.min(deadlineOf(snapshot), attempt.kind === 'running' ? lostAt(attempt) : Infinity);
  return { kind: 'wait', ms: Math.max(1_000, until - now.getTime()) };
});

export const retryLost = during(({ attempt, now }, { operation, status }) => {
  const why =
    attempt.kind === 'lost'
      ? attempt.why
      : attempt.kind === 'running'
        ? 'its node does not answer'
        : 'its Job is gone';
  if (status.attempt >= MAX_ATTEMPTS) {
    return { kind: 'fail', reason: 'Lost', message: `${MAX_ATTEMPTS} attempts were lost; the last: ${why}` };
  }
  const notBefore = new Date(now.getTime() + retryDelayMs(status.attempt)).toISOString();
  return {
    kind: 'move',
    to: operation.phase,
    because: `attempt ${status.attempt} was lost: ${why}`,
    operation: { attempt: status.attempt + 1, step: 'starting', notBefore },
  };
});

export const giveUp: Rule = (snapshot) => ({
  kind: 'fail',
  reason: 'DeadlineExceeded',
  message: `not done within ${snapshot.operation?.spec.cluster.timeout_mins ?? '60'} minutes (spec.cluster.timeout_mins)`,
});

export const succeed = during((snapshot, { operation, status }) => {
  const plan = operation.hosts(situationOf(snapshot));
  const open = settle(snapshot, plan, operation);
  const late = snapshot.now.getTime() >= deadlineOf(snapshot);
  const keyless = operation.needsKubeconfig && snapshot.kubeconfig.kind !== 'present';
  if (open && late && keyless && open.kind !== 'act') {
    const why =
      snapshot.kubeconfig.kind === 'hidden'
        ? { reason: 'NamespaceNotServed', message: 'the Secrets of its namespace may not be read any more' }
        : { reason: 'KubeconfigMissing', message: 'no kubeconfig could be fetched' };
    return { kind: 'fail', reason: why.reason, message: `the work was done, but ${why.message}` };
  }
  if (open) return open;
  return {
    kind: 'move',
    to: operation.ends,
    because: `${operation.words.finished}`,
    operation: {
      result: 'finished',
      step: 'done',
      endedAt: snapshot.now.toISOString(),
      attempt: status.attempt,
    },
  };
});

/** Hosts that did join in a failed attempt are part of the cluster all the same. */
export const failAttempt = during((snapshot, { operation }) => {
  const { attempt, claims } = snapshot;
  if (attempt.kind !== 'failed') return unexpected(snapshot);
  const ok = new Set(attempt.report?.hosts.filter((host) => host.ok).map(({ ip }) => ip));
  const joined = operation
    .hosts(situationOf(snapshot))
    .joining.map(({ ip }) => ip)
    .filter((ip) => ok.has(ip) && claims.some(({ host, state }) => host.ip === ip && state !== 'joined'));
  if (joined.length > 0) return { kind: 'act', effects: [{ kind: 'join', hosts: joined }] };
  return { kind: 'fail', reason: attempt.reason, message: attempt.message };
});
