import type { PlanStatus } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { shortHash } from '#base/canonical.ts';
import type { AttemptState } from '#installer/installer.ts';
import { findOperation } from '#operations/index.ts';
import type { Operation } from '#operations/operation.ts';
import { type Plan, planOf } from '#operations/plan.ts';
import { resolveSpec } from '#operations/resolve.ts';
import { runOf } from './order.ts';
import { type Effect, type Outcome, type Stall, textOfBlock, textOfProblems } from './outcome.ts';
import { PRECHECK, type Request, type Snapshot } from './snapshot.ts';

const DEADLINE_SECONDS = 300;
const BLOCKED_MS = 5_000;
/** Below what the CRD takes; a plan may be of a thousand hosts. */
const MAX_TEXT = 3500;
const MAX_HOSTS = 100;

const questionOf = ({ word, requestId, specHash }: Request) => ({ word, requestId, specHash });

/** The plan in status, if it answers this very request. */
function answerTo({ cluster }: Snapshot, request: Request): PlanStatus | undefined {
  const plan = cluster.status?.plan;
  const same =
    plan?.word === request.word && plan.requestId === request.requestId && plan.specHash === request.specHash;
  return same ? plan : undefined;
}

const jobOf = ({ clusterId }: Snapshot, { word, requestId, specHash }: Request): string =>
  `${PRECHECK}-${shortHash(`${clusterId}/${word}/${requestId}/${specHash}`)}-1`;

/**
 * What an accepted request would do, and what its hosts say to it: the plan is written to status, and the hosts are
 * looked at by an errand that runs no playbook. A request that was answered so is looked at again under another
 * request-id.
 */
export function rehearse(snapshot: Snapshot, request: Request): Outcome {
  const operation = findOperation(request.operation);
  if (!operation) return { kind: 'rest' };
  const plan = planFor(snapshot, operation);
  const job = jobOf(snapshot, request);
  const known = answerTo(snapshot, request);
  const left = snapshot.attempts.filter(({ errand }) => errand === PRECHECK);
  if (known && known.result !== 'Checking') {
    const [first, ...others] = left;
    if (first) return { kind: 'act', effects: [{ kind: 'discard', attempts: [first, ...others] }] };
    return { kind: 'rest', plan: known, stall: stallOf(known) };
  }
  const tell = (result: PlanStatus['result'], message: string): PlanStatus => ({
    ...outlineOf(plan),
    ...questionOf(request),
    operation: operation.name,
    result,
    message: message.slice(0, MAX_TEXT),
    at: snapshot.now.toISOString(),
  });
  const end = (result: 'Possible' | 'Refused', message: string): Outcome => {
    const told = tell(result, message);
    return { kind: 'rest', plan: told, stall: stallOf(told) };
  };
  if (plan.refusals.length > 0) return end('Refused', textOfProblems(plan.refusals));
  if (plan.steps.length === 0) return end('Possible', 'no host is worked on');
  const check = snapshot.check?.ref.job === job ? snapshot.check.state : undefined;
  if (!check) return begin(snapshot, plan, job);
  return ended(check, end) ?? follow(check, known ?? tell('Checking', 'looking at the hosts'));
}

function planFor({ cluster, applied, hosts, offer }: Snapshot, operation: Operation): Plan {
  const version = cluster.status?.version;
  const spec = resolveSpec(cluster.spec, offer, version);
  return planOf(operation, { spec, applied, hosts, offer, version });
}

/** The parts of a plan that stay small however many hosts it has. */
function outlineOf({
  hosts,
  steps,
  warnings,
}: Plan): Pick<PlanStatus, 'steps' | 'hosts' | 'changes' | 'warnings'> {
  const counts: Record<string, number> = {};
  for (const { action } of hosts) counts[action] = (counts[action] ?? 0) + 1;
  return {
    steps: steps.map(({ name }) => name),
    hosts: counts,
    changes: hosts
      .filter(({ action }) => action !== 'stay')
      .slice(0, MAX_HOSTS)
      .map(({ member: { ip, name }, action }) => ({ ip, name, action })),
    ...(warnings.length > 0 ? { warnings: textOfProblems(warnings).slice(0, MAX_TEXT) } : {}),
  };
}

function begin(snapshot: Snapshot, { hosts, steps }: Plan, job: string): Outcome {
  const joining = hosts.filter(({ action }) => action === 'join').map(({ member }) => member);
  const attempt = runOf(
    snapshot,
    { hosts: [...hosts], steps: [...steps] },
    {
      job,
      attempt: 1,
      deadlineSeconds: DEADLINE_SECONDS,
      errand: PRECHECK,
      task: PRECHECK,
      callback: PRECHECK,
      precheck: 'all',
      brings: [],
    },
  );
  const before = snapshot.attempts.filter((one) => one.errand === PRECHECK && one.job !== job);
  const start: Effect[] = [
    { kind: 'ask-for', members: joining },
    { kind: 'start', attempt },
  ];
  return before.length > 0
    ? { kind: 'act', effects: [{ kind: 'discard', attempts: before }, ...start] }
    : {
        kind: 'act',
        effects: [
          { kind: 'ask-for', members: joining },
          { kind: 'start', attempt },
        ],
      };
}

function ended(
  check: AttemptState,
  end: (result: 'Possible' | 'Refused', message: string) => Outcome,
): Outcome | undefined {
  if (check.kind === 'succeeded') return end('Possible', '');
  if (check.kind === 'failed') return end('Refused', `${check.reason}: ${check.message}`);
  const unseen = 'the hosts could not be looked at; ask again under a new request-id';
  if (check.kind === 'lost') return end('Refused', `${unseen}: ${check.why}`);
  // Nothing that is set now reaches a pod whose image Jobs are not made with any more.
  if (check.kind === 'running' && check.blocked?.outdated)
    return end('Refused', `${unseen}: ${textOfBlock(check.blocked)}`);
  return undefined;
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
