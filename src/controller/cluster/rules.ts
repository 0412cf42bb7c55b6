import type { OperationStatus, Spec } from '#api/kubernetes-cluster.ts';
import { type Phase, WORDS } from '#api/words.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import { type Member, membersOf } from '#operations/members.ts';
import type { Operation, Situation } from '#operations/operation.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import type { Outcome } from './outcome.ts';
import { settle } from './settle.ts';
import { deadlineOf, deletionRequestId } from './signal.ts';
import type { Snapshot } from './snapshot.ts';

export type Rule = (snapshot: Snapshot) => Outcome;

const MAX_ATTEMPTS = 3;
/** An attempt that was lost is followed after 5 s, then after 15 s. */
const retryDelayMs = (attempt: number): number => 5_000 * 3 ** (attempt - 1);

export const rest: Rule = () => ({ kind: 'rest' });

/** For signals that cannot come in a phase unless someone edits status: said, not guessed at. */
export const unexpected: Rule = ({ cluster }) => ({
  kind: 'rest',
  stall: {
    reason: 'Unexpected',
    message: `phase "${cluster.status?.phase ?? ''}" does not fit what is there`,
  },
});

const stall =
  (reason: string, message: (snapshot: Snapshot) => string): Rule =>
  (snapshot) => ({ kind: 'rest', stall: { reason, message: message(snapshot) } });

export const conflict = stall('IdentityConflict', ({ binding, clusterId }) =>
  binding.kind === 'foreign'
    ? `cluster-id ${clusterId} belongs to ${binding.to}; make the copy without the annotation`
    : `cluster-id ${clusterId} has no record in the operator's namespace; nothing is done in its name`,
);
export const paused = stall('Paused', () => 'spec.paused is set; nothing new starts');
export const unconfirmed = stall('NeedsConfirmation', ({ applied, cluster }) => {
  const inference = applied ? infer(applied, cluster.spec) : undefined;
  if (inference?.kind === 'needs-confirmation') return inference.message;
  return 'the spec was asked for before; set the operation, with a new request-id, to have it done again';
});
export const notOffered = stall('NotOffered', ({ applied, cluster, request }) => {
  if (request) return `the operation "${request.word}" is not implemented`;
  const inference = applied ? infer(applied, cluster.spec) : undefined;
  return inference?.kind === 'not-offered' ? inference.message : 'the change is not offered';
});

export const letGo: Rule = () => ({ kind: 'act', effects: [{ kind: 'let-go' }] });
export const bind: Rule = () => ({ kind: 'act', effects: [{ kind: 'bind' }, { kind: 'adopt' }] });
export const tidy: Rule = ({ attempts }) => ({ kind: 'act', effects: [{ kind: 'discard', attempts }] });

/** `terminating` is a DELETE of the object: hosts are reset only under a deletionTimestamp. */
export const accept: Rule = ({ request }) =>
  request?.operation === 'delete'
    ? { kind: 'act', effects: [{ kind: 'delete-object' }] }
    : request?.operation
      ? { kind: 'accept', operation: request.operation, request }
      : { kind: 'rest' };

export const acceptDeletion: Rule = ({ cluster }) => ({
  kind: 'accept',
  operation: 'delete',
  request: {
    word: WORDS.delete.asked,
    requestId: deletionRequestId(cluster),
    specHash: specHashOf(cluster.spec),
    operation: 'delete',
  },
});

export const acceptDeclared: Rule = ({ applied, cluster }) => {
  const inference = applied ? infer(applied, cluster.spec) : undefined;
  if (inference?.kind !== 'operation') return { kind: 'rest' };
  const specHash = specHashOf(cluster.spec);
  const { name } = inference;
  // The hash names the request: the same spec is never inferred twice.
  const request = { word: WORDS[name].asked, requestId: `declared-${specHash}`, specHash, operation: name };
  return { kind: 'accept', operation: name, request };
};

/** The word of a request that was carried out before, written back; a cluster that exists was created. */
export const answerAgain: Rule = ({ request, cluster, applied }) => {
  const words = request?.operation ? WORDS[request.operation] : undefined;
  if (!request || !words) return { kind: 'rest' };
  const record = cluster.status?.requests?.findLast(
    ({ word, requestId, specHash }) =>
      word === request.word && requestId === request.requestId && specHash === request.specHash,
  );
  const result = applied && request.operation === 'create' ? 'finished' : (record?.result ?? 'finished');
  return { kind: 'act', effects: [{ kind: 'answer', word: words[result], applied: false }] };
};

/** The second write of an operation's end; for a deletion, the end of everything. */
export const tellEnd: Rule = ({ operation, attempts }) => {
  if (!operation?.result) return { kind: 'rest' };
  if (operation.name === 'delete' && operation.result === 'finished') {
    return { kind: 'act', effects: [{ kind: 'discard', attempts }, { kind: 'let-go' }] };
  }
  const word = WORDS[operation.name][operation.result];
  return {
    kind: 'act',
    effects: [
      { kind: 'record', result: operation.result },
      { kind: 'answer', word, applied: operation.result === 'finished' },
    ],
  };
};

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
    const message = problems.map(({ field, reason }) => `${field} ${reason}`).join('; ');
    return { kind: 'fail', reason: 'InvalidSpec', message };
  }
  if (attempts.length > 0) return { kind: 'act', effects: [{ kind: 'discard', attempts }] };
  const plan = operation.hosts(situation);
  const held = new Set(claims.map(({ host }) => host.ip));
  const unclaimed = plan.joining.filter(({ ip }) => !held.has(ip));
  if (unclaimed.length > 0) return { kind: 'act', effects: [{ kind: 'claim', hosts: unclaimed }] };
  // Said by the host's entry now, or found when its claim was taken.
  const reclaims = new Map([
    ...claims.flatMap(({ host, reclaims: id }) => (id === undefined ? [] : [[host.ip, id] as const])),
    ...plan.joining.flatMap(({ ip, reclaim }) => (reclaim === undefined ? [] : [[ip, reclaim] as const])),
  ]);
  const attempt = {
    clusterId,
    sequence: status.sequence,
    attempt: status.attempt,
    job: jobName(operation.prefix, status),
    cluster: { namespace: cluster.metadata.namespace ?? '', name: cluster.metadata.name ?? '' },
    operation: operation.name,
    spec: status.spec,
    plan,
    reclaims,
    deadlineSeconds: Math.max(1, Math.ceil((deadlineOf(snapshot) - now.getTime()) / 1000)),
  };
  return {
    kind: 'act',
    effects: [
      { kind: 'start', attempt },
      { kind: 'record', result: 'running' },
    ],
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
  return { kind: 'wait', ms: Math.max(1_000, deadlineOf(snapshot) - now.getTime()) };
});

export const retryLost = during(({ attempt, now }, { operation, status }) => {
  const why = attempt.kind === 'lost' ? attempt.why : 'its Job is gone';
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
  const keyless = operation.needsKubeconfig && snapshot.kubeconfig.kind === 'missing';
  if (open && late && keyless && open.kind !== 'act') {
    return {
      kind: 'fail',
      reason: 'KubeconfigMissing',
      message: 'the work was done, but no kubeconfig could be fetched',
    };
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
