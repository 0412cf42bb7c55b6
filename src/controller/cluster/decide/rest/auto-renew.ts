import { isDryRun } from '#api/cluster-facts.ts';
import { annotations } from '#api/names.ts';
import { minutesOfDay, type RenewWindow } from '#api/policy.ts';
import { renew } from '#operations/renew.ts';
import { agreedHash, lastSequence, presentPlan } from '../approved-plan.ts';
import type { Outcome } from '../outcome.ts';
import type { Snapshot } from '../snapshot.ts';
import { isObserved } from '../status/health.ts';
import { restUntilReset } from './reset-left.ts';

/** Automatic renewal: certificates that end soon are renewed in the window of `spec.policy.autoRenew`. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** As condition `CertificatesValid` warns. A kubelet renews its own certificate before that. */
const BEFORE_MS = 30 * DAY_MS;
/** A renewal that failed is tried again in the next day's window. */
const AFTER_FAILURE_MS = 20 * HOUR_MS;
/** A renewal that succeeded may have left the certificate of a host that was away, or one that only its host reports. */
const AFTER_SUCCESS_MS = 7 * DAY_MS;

/** Returns the first time from `start` on that is in the window, which is in UTC. */
export function nextInWindow(window: RenewWindow, start: Date): Date {
  if (window.from === undefined || window.to === undefined) return start;
  const [from, to] = [minutesOfDay(window.from), minutesOfDay(window.to)];
  const midnight = Math.floor(start.getTime() / DAY_MS) * DAY_MS;
  const minute = (start.getTime() - midnight) / MINUTE_MS;
  const isIn = from < to ? minute >= from && minute < to : minute >= from || minute < to;
  if (isIn) return start;
  return new Date(midnight + from * MINUTE_MS + (minute < from ? 0 : DAY_MS));
}

/** Returns when the operator renews by itself; undefined if no certificate ends soon, or something prevents it. */
export function renewalDueAt(snapshot: Snapshot): Date | undefined {
  const { cluster, now } = snapshot;
  const window = cluster.spec.policy?.autoRenew;
  if (!window || !isObserved(cluster) || cluster.spec.paused || isDryRun(cluster)) return undefined;
  if (agreedHash(snapshot) !== undefined) return undefined;
  const end = endOf(snapshot);
  if (!(end - now.getTime() <= BEFORE_MS)) return undefined;
  if (presentPlan(snapshot, renew).refusals.length > 0) return undefined;
  return nextInWindow(window, new Date(Math.max(now.getTime(), ...restUntil(snapshot))));
}

/** Returns when the first certificate ends; NaN if that is unknown. Without a valid kubeconfig no probe finds it. */
function endOf({ cluster, health }: Snapshot): number {
  const found = health.kind === 'seen' ? health.verdict.certificatesEnd : undefined;
  return found?.getTime() ?? Date.parse(cluster.status?.certificatesExpire ?? '');
}

/** Returns until when the last renewals, requested by anyone, rule out another. */
function restUntil({ cluster, operation }: Snapshot): number[] {
  const isRenewal = operation?.name === 'renew';
  const pause = isRenewal && operation.result === 'finished' ? AFTER_SUCCESS_MS : AFTER_FAILURE_MS;
  const times = [
    cluster.metadata.annotations?.[annotations.renewedAt],
    isRenewal ? operation.startedAt : undefined,
  ];
  // Only the controller writes these times; one that cannot be read does not count.
  return times.map((time) => Date.parse(time ?? '') + pause).filter((until) => !Number.isNaN(until));
}

/** Whether the first certificate has ended, as far as is known. */
export const hasExpiredCertificates = (snapshot: Snapshot): boolean =>
  endOf(snapshot) <= snapshot.now.getTime();

/** Whether a renewal is due, or waits for its window. */
export const awaitsRenewal = (snapshot: Snapshot): boolean => renewalDueAt(snapshot) !== undefined;

/** Sets the operation annotation as a user would, or waits for the window. */
export function autoRenew(snapshot: Snapshot): Outcome {
  const due = renewalDueAt(snapshot);
  if (!due) return { kind: 'rest' };
  const ms = due.getTime() - snapshot.now.getTime();
  if (ms > 0) {
    const rest = restUntilReset(snapshot);
    return { kind: 'wait', ms: rest.kind === 'wait' ? Math.min(ms, rest.ms) : ms };
  }
  const requestId = `auto-renew-${lastSequence(snapshot.cluster) + 1}`;
  return { kind: 'act', effects: [{ kind: 'ask-upkeep', operation: 'renew', requestId }] };
}
