import { isDryRun } from '#api/cluster-facts.ts';
import { isMaster } from '#api/cluster-host.ts';
import { type HostRecord, isFree, stateOf } from '#api/host-record.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { scaleDown } from '#operations/scale-down.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { agreedHash, lastSequence, presentPlan } from '../approved-plan.ts';
import type { Outcome } from '../outcome.ts';
import type { Snapshot } from '../snapshot.ts';

/**
 * A host that was away when it left keeps its kubelet and its API server, and starts them when it comes back. The controller
 * starts a scale-down without other changes, so that the host is reset. The first try follows 10 min after the last run;
 * each pause is twice the one before. After `DOUBLED` tries a control plane is tried once a day, and other hosts are not.
 */
const FIRST_MS = 10 * 60_000;
const DOUBLED = 5;
const DAY_MS = 24 * 60 * 60_000;
/** The pause after a reset that was refused, for instance because a credential is missing. */
export const REFUSED_RESET_MS = FIRST_MS;

const BY = 'remediation';
const ID = 'reset-';

/** Whether the controller started the operation to reset hosts. Its failure is not the failure of a user's request. */
export const isResetAgain = ({ requestId, requestedBy }: OperationStatus): boolean =>
  requestedBy === BY && requestId.startsWith(ID);

/** Returns milliseconds since 1970; undefined if the host needs no reset, or is no longer tried. */
function dueAtOf(host: HostRecord): number | undefined {
  const { lastRun, resets = 0 } = host.status ?? {};
  if (stateOf(host) !== 'Unclean' || !isFree(host) || !lastRun) return undefined;
  if (resets >= DOUBLED && !isMaster(host.spec)) return undefined;
  const at = Date.parse(lastRun.at) + (resets < DOUBLED ? FIRST_MS * 2 ** resets : DAY_MS);
  return Number.isNaN(at) ? undefined : at;
}

/** Returns the next moment at which a reset may begin; undefined if none does while the cluster stays as it is. */
function dueAt({ cluster, hosts }: Snapshot): number | undefined {
  if (cluster.spec.paused || isDryRun(cluster) || cluster.status?.phase !== 'Running') return undefined;
  const times = hosts.flatMap((host) => dueAtOf(host) ?? []);
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** Whether etcd members and API servers that stay answer; a try while one is away fails. */
function isWell({ health }: Snapshot): boolean {
  if (health.kind !== 'seen') return false;
  const { conditions } = health.verdict;
  return ['ControlPlaneHealthy', 'EtcdHealthy'].every((wanted) =>
    conditions.some(({ type, status }) => type === wanted && status === 'True'),
  );
}

/** Returns the addresses of hosts to reset now; undefined if none is due, or if a scale-down is refused or has hooks. */
export function dueReset(snapshot: Snapshot): string[] | undefined {
  const at = dueAt(snapshot);
  if (at === undefined || snapshot.now.getTime() < at) return undefined;
  if (!isWell(snapshot) || agreedHash(snapshot) !== undefined) return undefined;
  const { hosts, hooks, refusals } = presentPlan(snapshot, scaleDown);
  const leaving = hosts.filter(({ action }) => action === 'leave').map(({ member: host }) => host.ip);
  return refusals.length > 0 || hooks.length > 0 || leaving.length === 0 ? undefined : leaving;
}

/**
 * Accepts a scale-down without an operation annotation: an annotation would confirm any edit that a user makes meanwhile.
 */
export function acceptReset(snapshot: Snapshot): Outcome {
  if (!dueReset(snapshot)) return { kind: 'rest' };
  const { cluster } = snapshot;
  const requestId = `${ID}${lastSequence(cluster) + 1}`;
  const specHash = specHashOf(cluster.spec);
  const request = { word: scaleDown.values.asked, requestId, specHash, operation: scaleDown.name };
  return { kind: 'accept', operation: scaleDown.name, request, requestedBy: BY };
}

/** Waits until the next such reset is due. */
export function restUntilReset(snapshot: Snapshot): Outcome {
  const ms = (dueAt(snapshot) ?? 0) - snapshot.now.getTime();
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'rest' };
}
