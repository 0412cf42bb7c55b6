import { isDryRun } from '#api/cluster-facts.ts';
import { annotations } from '#api/names.ts';
import type { PlanStatus } from '#api/plan-status.ts';
import { shortHash } from '#base/canonical.ts';
import type { AttemptState } from '#installer/installer.ts';
import { findOperation } from '#operations/index.ts';
import type { Operation } from '#operations/operation.ts';
import type { Plan } from '#operations/plan-for.ts';
import { outlineOf, planHash, withSeen } from '#operations/plan-hash.ts';
import type { HostReport } from '#protocol/report.ts';
import { joins, machineSeen } from '#protocol/run-spec.ts';
import { lastSequence, presentPlan } from '../approved-plan.ts';
import { type Effect, type Outcome, type Stall, textOfBlock, textOfProblems } from '../outcome.ts';
import { runOf } from '../run-spec.ts';
import { PRECHECK, type Request, type Snapshot } from '../snapshot.ts';

const DEADLINE_SECONDS = 300;
const BLOCKED_MS = 5_000;
/** Below the limit of the CRD: a plan may have a thousand hosts. */
const MAX_TEXT = 3500;

const questionOf = ({ word, requestId, specHash }: Request) => ({ word, requestId, specHash });

/** Returns the plan in status, if it answers this very request. */
function answerTo({ cluster }: Snapshot, request: Request): PlanStatus | undefined {
  const plan = cluster.status?.plan;
  const same =
    plan?.word === request.word && plan.requestId === request.requestId && plan.specHash === request.specHash;
  return same ? plan : undefined;
}

const jobOf = ({ clusterId }: Snapshot, { word, requestId, specHash }: Request): string =>
  `${PRECHECK}-${shortHash(`${clusterId}/${word}/${requestId}/${specHash}`)}-1`;

/**
 * Plans a request and checks its hosts without carrying it out. The plan is written to status, and an auxiliary Job that
 * runs no playbook checks the hosts. The same request is checked again only under another request-id.
 */
export function rehearse(snapshot: Snapshot, request: Request): Outcome {
  const operation = findOperation(request.operation);
  if (!operation) return { kind: 'rest' };
  const plan = presentPlan(snapshot, operation);
  const job = jobOf(snapshot, request);
  const known = answerTo(snapshot, request);
  if (known && known.result !== 'Checking') {
    const [first, ...others] = snapshot.attempts.filter(({ auxiliary }) => auxiliary === PRECHECK);
    if (first) return { kind: 'act', effects: [{ kind: 'discard', attempts: [first, ...others] }] };
    return answered(known);
  }
  const reported = (
    result: PlanStatus['result'],
    message: string,
    seen?: PlanStatus['seen'],
  ): PlanStatus => ({
    ...outlined(snapshot, operation, withSeen(plan, seen)),
    ...(seen && Object.keys(seen).length > 0 ? { seen } : {}),
    ...questionOf(request),
    operation: operation.name,
    result,
    message: message.slice(0, MAX_TEXT),
    at: snapshot.now.toISOString(),
  });
  if (plan.refusals.length > 0) return answered(reported('Refused', textOfProblems(plan.refusals)));
  if (plan.steps.length === 0) return answered(reported('Possible', 'no host is worked on'));
  if (!known) {
    // Written before the check begins, so that the answer to an older request is not taken for this one's.
    const asked = reported('Checking', 'looking at the hosts');
    return { kind: 'wait', ms: 1_000, plan: asked, stall: stallOf(asked) };
  }
  const check = snapshot.check?.ref.job === job ? snapshot.check.state : undefined;
  // If the start of the run was interrupted, its Secret exists already; starting again completes it.
  if (!check || check.kind === 'absent') return begin(snapshot, plan, job);
  const [result, message] = verdictOf(check);
  if (result === 'Checking') return follow(check, known);
  const hosts = 'report' in check && result === 'Possible' ? (check.report?.hosts ?? []) : [];
  const bad = hosts
    // The Job does not connect to hosts without a step, so their reports say nothing.
    .filter(({ ip }) => plan.steps.some(({ hosts: worked }) => worked.includes(ip)))
    // A check changes no host, so `ok` says nothing of one that answered.
    .filter(({ ok, message, machineId }) => !ok && (message !== undefined || machineId === undefined))
    .map(({ ip, message: why = 'it was not reached' }) => `${ip}: ${why}`);
  const verdict = reported(result, message, seenOf(plan, hosts));
  const warnings = [verdict.warnings, ...bad].filter((text) => text !== undefined).join('; ');
  return answered({
    ...verdict,
    ...(warnings === '' ? {} : { warnings: warnings.slice(0, MAX_TEXT) }),
  });
}

/** Returns the machine at the address of each joining host that was reached. */
function seenOf({ hosts }: Plan, reports: readonly HostReport[]): NonNullable<PlanStatus['seen']> {
  const joining = new Set(hosts.filter(joins).map(({ member: host }) => host.ip));
  const machines = reports.flatMap(({ ip, machineId = '' }) =>
    joining.has(ip) && machineId !== '' ? [[ip, machineSeen(machineId)] as const] : [],
  );
  return Object.fromEntries(machines);
}

const answered = (plan: PlanStatus): Outcome => ({ kind: 'rest', plan, stall: stallOf(plan) });

/** Returns the outcome if the cluster may not use the credentials or a host; undefined outside a dry run. */
export function rehearsalRefused(
  { cluster, now }: Pick<Snapshot, 'cluster' | 'now'>,
  { reason, message }: Stall,
): Outcome | undefined {
  const plan = isDryRun(cluster) ? cluster.status?.plan : undefined;
  if (plan?.result !== 'Checking') return undefined;
  return answered({
    ...plan,
    result: 'Refused',
    message: `${reason}: ${message}`.slice(0, MAX_TEXT),
    at: now.toISOString(),
  });
}

/** Returns the plan as status stores it. */
const outlined = ({ cluster }: Snapshot, { name }: Operation, plan: Plan) => {
  const after = lastSequence(cluster);
  const warnings = textOfProblems(plan.warnings).slice(0, MAX_TEXT);
  return {
    ...outlineOf(plan, after),
    hash: planHash(name, plan, after),
    ...(warnings === '' ? {} : { warnings }),
  };
};

function begin(snapshot: Snapshot, { hosts, steps, hooks, target }: Plan, job: string): Outcome {
  const joining = hosts.filter(joins).map(({ member: host }) => host);
  const attempt = runOf(
    snapshot,
    { hosts: [...hosts], steps: [...steps] },
    {
      job,
      attempt: 1,
      deadlineSeconds: DEADLINE_SECONDS,
      auxiliary: PRECHECK,
      task: PRECHECK,
      callback: PRECHECK,
      precheck: 'all',
      brings: [],
      // The last operation had another spec: an upgrade has another version.
      spec: target,
    },
  );
  const before = snapshot.attempts.filter((one) => one.auxiliary === PRECHECK && one.job !== job);
  const probe: Effect = { kind: 'check-hosts', hosts: joining, hooks, attempt };
  return before.length > 0
    ? { kind: 'act', effects: [{ kind: 'discard', attempts: before }, probe] }
    : { kind: 'act', effects: [probe] };
}

function verdictOf(check: AttemptState): [PlanStatus['result'], message: string] {
  const unseen = 'the hosts could not be looked at; ask again under a new request-id';
  if (check.kind === 'succeeded') return ['Possible', ''];
  if (check.kind === 'failed') return ['Refused', `${check.reason}: ${check.message}`];
  if (check.kind === 'lost') return ['Refused', `${unseen}: ${check.why}`];
  // A setting that changes now does not reach a pod with a replaced image.
  if (check.kind === 'running' && check.blocked?.outdated)
    return ['Refused', `${unseen}: ${textOfBlock(check.blocked)}`];
  return ['Checking', ''];
}

function follow(check: AttemptState, plan: PlanStatus): Outcome {
  const blocked = check.kind === 'running' ? check.blocked : undefined;
  const stall = blocked
    ? { reason: 'RunBlocked', message: `its pod cannot start: ${textOfBlock(blocked)}` }
    : stallOf(plan);
  return { kind: 'wait', ms: BLOCKED_MS, plan, stall };
}

const SAYS: Readonly<Record<PlanStatus['result'], string>> = {
  Checking: 'is being planned, nothing has begun',
  Possible: 'would begin',
  Refused: 'would be refused',
};

function stallOf({ word, result, message }: PlanStatus): Stall {
  const why = message === '' ? '' : `: ${message}`;
  return {
    reason: 'DryRun',
    message: `${word} ${SAYS[result]}${why}; to have it done, remove annotation ${annotations.dryRun}`,
  };
}
