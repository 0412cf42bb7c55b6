import { isDryRun } from '#api/cluster-facts.ts';
import { clusterHostsOf } from '#api/cluster-host.ts';
import { type Condition, findCondition, type Stated } from '#api/conditions.ts';
import { canonicalIp, type HostEntry } from '#api/host.ts';
import { stateOf } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { POLICY_DEFAULTS } from '#api/policy.ts';
import { editFor, type Remediation, remedied } from '#operations/remediation.ts';
import { replace } from '#operations/replace.ts';
import { agreedHash, lastSequence, presentPlan } from '../approved-plan.ts';
import { type Effect, type Outcome, type Stall, textOfProblems } from '../outcome.ts';
import type { Snapshot } from '../snapshot.ts';
import { isObserved } from '../status/health.ts';
import { isResetAgain } from './reset-left.ts';

/** Remediation: a control plane that stays away is replaced by a spare host of `spec.policy`. */

const TYPE = 'RemediationReady';
/**
 * The finding of a probe about control planes that are away. It is smoothed like a condition but is not written as one. For
 * the reason `OneAway` the message is the address.
 */
export const PRESENCE = 'ControlPlanesPresent';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MAX_TEXT = 1000;

interface Found {
  stated: Stated;
  /** The effect that is due now. */
  due?: Extract<Effect, { kind: 'remediate' }>;
}

const isNot = (reason: string, message: string): Found => ({
  stated: { type: TYPE, status: 'False', reason, message },
});
const is = (reason: string, message: string): Stated => ({ type: TYPE, status: 'True', reason, message });

const OF_SPARES: ReadonlySet<string> = new Set([
  'replaceFrom',
  'replaceAfterMinutes',
  'replaceAtMostEveryHours',
]);
/** Whether the policy has a field about spares. */
const wantsRemediation = ({ spec: { policy = {} } }: KubernetesCluster): boolean =>
  Object.keys(policy).some((field) => OF_SPARES.has(field));

const minutesOf = ({ cluster }: Snapshot): number =>
  cluster.spec.policy?.replaceAfterMinutes ?? POLICY_DEFAULTS.replaceAfterMinutes;

/** Returns the free spares. A spare is not free if any cluster has a record of it, in whatever state. */
function freeSpares({ cluster, sparesOnRecord }: Snapshot): HostEntry[] {
  const spares = cluster.spec.policy?.replaceFrom ?? [];
  return spares.filter(({ ip }) => !sparesOnRecord.includes(canonicalIp(ip) ?? ip));
}

/** Returns what remediation would do, or why it does nothing; undefined while no probe has reported on control planes. */
function remediationOf(snapshot: Snapshot, isDone: boolean): Found | undefined {
  const { health } = snapshot;
  const [spare] = freeSpares(snapshot);
  if (!spare) return noSpare(snapshot);
  const held = heldUp(snapshot, isDone);
  if (held) return held;
  const reported = health.kind === 'seen' && health.verdict.conditions.find(({ type }) => type === PRESENCE);
  if (!reported) return undefined;
  if (reported.status === 'Unknown') return isNot('NotJudged', reported.message);
  const minutes = minutesOf(snapshot);
  if (reported.status === 'True')
    return {
      stated: is('NobodyAway', `a control plane that is away for ${minutes} min is replaced by ${spare.ip}`),
    };
  if (reported.reason !== 'OneAway')
    return isNot(
      'SeveralAway',
      `${reported.message}; the operator replaces a control plane only if it alone is away`,
    );
  return ofOneAway(snapshot, reported.message);
}

function noSpare({ cluster: { spec } }: Snapshot): Found {
  const named = spec.policy?.replaceFrom ?? [];
  const message =
    named.length === 0
      ? 'no spare host is left; name one in spec.policy.replaceFrom'
      : `every spare host is on record as a host of a cluster already: ${named.map(({ ip }) => ip).join(', ')}`;
  return isNot('NoSpareHost', message);
}

/** Returns what prevents remediation whichever control plane is away. */
function heldUp(snapshot: Snapshot, isDone: boolean): Found | undefined {
  const { cluster, health } = snapshot;
  if ((cluster.spec.cluster.masterList ?? []).length < 2)
    return isNot(
      'OneControlPlane',
      'the cluster has one control plane, and without it no API server answers',
    );
  if (health.kind === 'off') return isNot('NotObserved', 'the operator does not probe created clusters');
  if (cluster.spec.paused) return isNot('Paused', 'spec.paused is set; nothing is replaced');
  if (isDryRun(cluster))
    return isNot('DryRun', `annotation ${annotations.dryRun} is there; nothing is replaced`);
  if (agreedHash(snapshot) !== undefined)
    return isNot('PlanNamed', `annotation ${annotations.plan} names a plan; nothing else is begun`);
  return isDone
    ? undefined
    : isNot('NotUpToDate', 'nothing is replaced until the cluster is what its spec says (UpToDate)');
}

function ofOneAway(snapshot: Snapshot, ip: string): Found {
  const { cluster, now } = snapshot;
  const hours = cluster.spec.policy?.replaceAtMostEveryHours ?? POLICY_DEFAULTS.replaceAtMostEveryHours;
  // The control plane was replaced since the last probe.
  if (!clusterHostsOf(cluster.spec.cluster).get(ip)?.duties.includes('control-plane'))
    return isNot('NotJudged', 'no probe since the last operation shows whether a control plane is away');
  const last = cluster.metadata.annotations?.[annotations.remediedAt];
  // An unreadable time, or one in the future, does not permit a replacement.
  if (last !== undefined && !(now.getTime() - Date.parse(last) >= hours * HOUR_MS))
    return isNot('TooSoon', `control plane ${ip} is away; the last replacement was less than ${hours} h ago`);
  const refused: string[] = [];
  for (const spare of freeSpares(snapshot)) {
    const edit = editFor(cluster.spec, ip, spare);
    const next = { ...cluster, spec: remedied(cluster.spec, edit) };
    const { refusals } = presentPlan({ ...snapshot, cluster: next }, replace);
    if (refusals.length === 0) return inPlace(snapshot, ip, spare, edit);
    refused.push(`${spare.ip}: ${textOfProblems(refusals)}`);
  }
  return isNot(
    'NoSpareFits',
    `control plane ${ip} is away, and no spare can take its place: ${refused.join('; ')}`,
  );
}

function inPlace(snapshot: Snapshot, ip: string, spare: HostEntry, edit: Remediation): Found {
  const { cluster, health } = snapshot;
  const minutes = minutesOf(snapshot);
  const stated = is(
    'ControlPlaneAway',
    `control plane ${ip} is away; ${spare.ip} takes its place once it has been away for ${minutes} min`,
  );
  const away = health.kind === 'seen' ? health.away : undefined;
  if (away?.ip !== ip || away.forMs < minutes * MINUTE_MS) return { stated };
  const requestId = `remedy-${ip}-${lastSequence(cluster) + 1}`;
  const message = `control plane ${ip} has been away for ${minutes} min or more; ${spare.ip} takes its place, as spec.policy says`;
  return { stated, due: { kind: 'remediate', ...edit, requestId, message } };
}

/** Returns the replacement that is due in a cluster at rest with an applied spec, unless an operation failed since. */
export function dueRemediation(snapshot: Snapshot): Found['due'] {
  const { cluster, operation, hosts } = snapshot;
  if (!wantsRemediation(cluster) || !isObserved(cluster)) return undefined;
  const hasFailed =
    operation?.result !== undefined && operation.result !== 'finished' && !isResetAgain(operation);
  if (hasFailed && hosts.some((host) => stateOf(host) !== 'Joined')) return undefined;
  return remediationOf(snapshot, true)?.due;
}

/** Edits the spec and sets the operation annotation as a user would; the rest is the same. */
export function applyRemediation(snapshot: Snapshot): Outcome {
  const due = dueRemediation(snapshot);
  return due ? { kind: 'act', effects: [due] } : { kind: 'rest' };
}

/**
 * Returns the condition; `settled` says that the spec is applied. Returns none before the first probe, so that the present
 * condition stays.
 */
export function remediationConditions(snapshot: Snapshot, isDone: boolean): [string, Stated | undefined][] {
  const { cluster } = snapshot;
  if (!wantsRemediation(cluster) || !isObserved(cluster)) return [[TYPE, undefined]];
  const found = remediationOf(snapshot, isDone);
  if (!found) return [];
  const { message } = found.stated;
  return [[TYPE, { ...found.stated, message: message.slice(0, MAX_TEXT) }]];
}

/** Reasons that a user should see: a control plane is away, or could not be replaced because no spare is free. */
const REPORTED = ['ControlPlaneAway', 'SeveralAway', 'TooSoon', 'NoSpareFits', 'NoSpareHost'];

/** Returns the Event of a change between two statuses. */
export function remediationEvents(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): Stall[] {
  const [old, now] = [findCondition(before, TYPE), findCondition(after, TYPE)];
  if (!now || !REPORTED.includes(now.reason) || old?.message === now.message) return [];
  return [{ reason: now.reason, message: now.message }];
}
