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
const PAUSE_MS = 20 * HOUR_MS;

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
function dueAt(snapshot: Snapshot): Date | undefined {
  const { cluster, health, now } = snapshot;
  const window = cluster.spec.policy?.autoRenew;
  if (!window || !isObserved(cluster) || cluster.spec.paused || isDryRun(cluster)) return undefined;
  if (agreedHash(snapshot) !== undefined || health.kind !== 'seen') return undefined;
  const end = health.verdict.certificatesEnd;
  if (!end || end.getTime() - now.getTime() > BEFORE_MS) return undefined;
  if (presentPlan(snapshot, renew).refusals.length > 0) return undefined;
  const last = Date.parse(cluster.metadata.annotations?.[annotations.renewedAt] ?? '');
  // An unreadable time does not prevent a renewal; only the controller writes it.
  const earliest = Number.isNaN(last) ? now.getTime() : Math.max(now.getTime(), last + PAUSE_MS);
  return nextInWindow(window, new Date(earliest));
}

/** Whether a renewal is due, or waits for its window. */
export const awaitsRenewal = (snapshot: Snapshot): boolean => dueAt(snapshot) !== undefined;

/** Sets the operation annotation as a user would, or waits for the window. */
export function autoRenew(snapshot: Snapshot): Outcome {
  const due = dueAt(snapshot);
  if (!due) return { kind: 'rest' };
  const ms = due.getTime() - snapshot.now.getTime();
  if (ms > 0) {
    const rest = restUntilReset(snapshot);
    return { kind: 'wait', ms: rest.kind === 'wait' ? Math.min(ms, rest.ms) : ms };
  }
  const requestId = `auto-renew-${lastSequence(snapshot.cluster) + 1}`;
  return { kind: 'act', effects: [{ kind: 'ask-renewal', requestId }] };
}
