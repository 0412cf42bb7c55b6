import type { Clock } from '#base/clock.ts';

/** Audit lines for each second of requests without a user, over all addresses, on one replica. */
const PER_SECOND = 20;
const SECOND_MS = 1_000;

/**
 * Limits the audit lines of requests without a user. The limit by address is not enough: a client with a large IPv6 network
 * has many addresses. `report` gets the number of omitted lines, at most once a second.
 */
export function auditCap(clock: Clock, report: (left: number) => void): { admits(): boolean } {
  let [sinceMs, written, left] = [clock.monotonicMs(), 0, 0];
  const begin = (): void => {
    [sinceMs, written, left] = [clock.monotonicMs(), 0, 0];
  };
  return {
    admits() {
      // While lines are omitted, the timer ends the second, so that their number is reported.
      if (left === 0 && clock.monotonicMs() - sinceMs >= SECOND_MS) begin();
      if (written < PER_SECOND) {
        written += 1;
        return true;
      }
      left += 1;
      if (left === 1)
        clock.after(sinceMs + SECOND_MS - clock.monotonicMs(), () => {
          report(left);
          begin();
        });
      return false;
    },
  };
}
