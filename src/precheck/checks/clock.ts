import { z } from 'zod';
import { type Check, error, fine } from '../check.ts';

const limits = z.object({ clockSkewSeconds: z.number().default(10) });

/**
 * Compares clocks, on which certificates and leases depend. The host read its clock between question and answer, so the time
 * in between is not counted against it.
 */
export const clock: Check = {
  name: 'clock',
  script: () => 'say time "$(date +%s%3N)"',
  limits,
  good: '@time 1000000',
  check({ host, limits: given, askedAtMs, answeredAtMs }) {
    const time = host.said.number('time');
    const skewSeconds = Math.max(0, askedAtMs - time, time - answeredAtMs) / 1000;
    if (host.role === 'leaving' || skewSeconds <= limits.parse(given).clockSkewSeconds) return fine;
    if (Number.isNaN(skewSeconds))
      return error('does not tell its time; see what "date +%s%3N" prints there');
    return error(`its clock is ${Math.round(skewSeconds)} s off ours; set up time synchronisation`);
  },
};
