import { z } from 'zod';
import { type Check, error, fine } from '../check.ts';

const limits = z.object({ clockSkewSeconds: z.number().default(10) });

/** Certificates and leases are only as good as the clocks; the round trip counts against the host, so be lenient. */
export const clock: Check = {
  name: 'clock',
  script: () => 'say time "$(date +%s%3N)"',
  limits,
  good: '@time 1000000',
  check({ host, limits: given, askedAtMs }) {
    const skewSeconds = Math.abs(host.said.number('time') - askedAtMs) / 1000;
    if (host.role === 'leaving' || skewSeconds <= limits.parse(given).clockSkewSeconds) return fine;
    return error(`its clock is ${Math.round(skewSeconds)} s off ours; set up time synchronisation`);
  },
};
