import type { Duplex } from 'node:stream';
import type { Timed } from './deadlines.ts';
import type { Traffic } from './traffic.ts';

/**
 * Lets bytes pass both ways as they come, and no more of them than the slower end takes. When one end goes, so does the
 * other. `late` becomes due when nothing has passed for the time of tunnels.
 */
export function tunnel(
  one: Duplex,
  other: Duplex,
  late: Timed,
  { deadlines, limits }: Pick<Traffic, 'deadlines' | 'limits'>,
): void {
  const touch = () => {
    late.dueMs = deadlines.nowMs + limits.tunnelIdleMs;
  };
  const lead = (from: Duplex, to: Duplex) => {
    from.on('data', (part: Buffer) => {
      touch();
      if (!to.write(part)) from.pause();
    });
    to.on('drain', () => from.resume());
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.resume();
  };
  touch();
  lead(one, other);
  lead(other, one);
}
