import { annotations } from '#api/names.ts';
import { cancelled } from '../cancelled.ts';
import { hooksHaveBegun } from '../due-hook.ts';
import { touchedBy } from '../host-records.ts';
import type { Effect } from '../outcome.ts';
import { stopBy } from '../times.ts';
import { follow, jobName, type WorkRule } from '../work/rules.ts';

/** Rules of a cancelled operation: its run is notified, and has a bounded time to stop and report. */

/** Ends an operation that has no run to stop. Hosts that it holds stay held for the next operation. */
export const endBeforeRun: WorkRule = (snapshot, { status }) => {
  const hooked = hooksHaveBegun(snapshot.hook, status);
  const [touched, ...more] = hooked ? touchedBy(snapshot) : [];
  if (touched) return { kind: 'act', effects: [touched, ...more] };
  if (status.attempt > 1)
    return cancelled(snapshot, status, 'no run of it was under way; hosts of a lost one count as changed');
  return cancelled(snapshot, status, hooked ? 'only its hooks have run' : 'no host was changed');
};

/** Moves the operation to cancelled. The server reads status and notifies the run in the answer to its log. */
export const reportRun: WorkRule = ({ cluster, now }, { operation, status }) => {
  const by = cluster.metadata.annotations?.[annotations.cancelledBy];
  return {
    kind: 'move',
    to: cluster.status?.phase ?? operation.phase,
    because: `cancelled${by === undefined ? '' : ` by ${by}`} at step ${status.step}: the run is notified to stop`,
    operation: { cancelledAt: now.toISOString(), ...(by === undefined ? {} : { cancelledBy: by }) },
  };
};

/** Follows the step as before, but waits no longer than the bound. */
export const awaitReport: WorkRule = (snapshot, work) => {
  const next = follow(snapshot, work);
  const ms = Math.max(1_000, stopBy(work.status) - snapshot.now.getTime());
  return next.kind === 'wait' ? { ...next, ms: Math.min(next.ms, ms) } : next;
};

/**
 * Marks the hosts of a run without a report as touched: it may have changed any of them. The fence rejects its later
 * commands.
 */
export const endOverdue: WorkRule = (snapshot, { operation, status }) => {
  const job = jobName(operation.prefix, status);
  const left = snapshot.attempts.filter((one) => one.job === job);
  const [first, ...others]: Effect[] = [
    ...touchedBy(snapshot),
    ...(left.length > 0 ? [{ kind: 'discard' as const, attempts: left }] : []),
  ];
  if (first) return { kind: 'act', effects: [first, ...others] };
  return cancelled(
    snapshot,
    status,
    'its run did not say how far it came, and each of its hosts counts as changed',
  );
};
