import { isDryRun } from '#api/cluster-facts.ts';
import { isFree, stateOf } from '#api/host-record.ts';
import { scaleDown } from '#operations/scale-down.ts';
import { agreedHash, lastSequence, planFor } from './agreed.ts';
import type { Effect, Outcome } from './outcome.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * A host that was away when it left keeps its kubelet and its API server, and starts them when it comes back. The
 * controller asks for a scale-down without other changes until the host was reached: after 10 min, then after twice the
 * time before, up to 320 min.
 */
const FIRST_MS = 10 * 60_000;
const MOST_DOUBLINGS = 5;

/** Milliseconds since 1970; undefined if no host waits for a reset, or none may begin. */
function dueAt({ cluster, hosts }: Snapshot): number | undefined {
  if (cluster.spec.paused || isDryRun(cluster) || cluster.status?.phase !== 'Running') return undefined;
  const times = hosts.flatMap((host) => {
    const { lastRun, leavingBy } = host.status ?? {};
    if (stateOf(host) !== 'Unclean' || !isFree(host) || !lastRun) return [];
    const tries = leavingBy ? lastRun.sequence - leavingBy.sequence : MOST_DOUBLINGS;
    const at = Date.parse(lastRun.at) + FIRST_MS * 2 ** Math.min(Math.max(tries, 0), MOST_DOUBLINGS);
    return Number.isNaN(at) ? [] : [at];
  });
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** The effect that asks for the reset of hosts that left; undefined if none is due or a scale-down is refused now. */
export function dueReset(snapshot: Snapshot): Extract<Effect, { kind: 'ask' }> | undefined {
  const at = dueAt(snapshot);
  if (at === undefined || snapshot.now.getTime() < at || agreedHash(snapshot) !== undefined) return undefined;
  const { hosts, refusals } = planFor(snapshot, scaleDown);
  const leaving = hosts.filter(({ action }) => action === 'leave').map(({ member }) => member.ip);
  if (refusals.length > 0 || leaving.length === 0) return undefined;
  const sequence = lastSequence(snapshot.cluster) + 1;
  return {
    kind: 'ask',
    word: scaleDown.words.asked,
    requestId: `reset-${sequence}`,
    message: `trying again to reset ${leaving.join(', ')}, which left without a reset`,
  };
}

export function askReset(snapshot: Snapshot): Outcome {
  const due = dueReset(snapshot);
  return due ? { kind: 'act', effects: [due] } : { kind: 'rest' };
}

/** Rests until the next such reset is due. */
export function restUntilReset(snapshot: Snapshot): Outcome {
  const ms = (dueAt(snapshot) ?? 0) - snapshot.now.getTime();
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'rest' };
}
