import { type Check, error, fine } from '../check.ts';

/** Certificates and leases are only as good as the clocks; the round trip counts against the host, so be lenient. */
export const clock: Check = {
  name: 'clock',
  check({ host, limits, askedAtMs }) {
    const skewSeconds = Math.abs(host.facts.timeMs - askedAtMs) / 1000;
    if (host.role === 'leaving' || skewSeconds <= limits.clockSkewSeconds) return fine;
    return error(`its clock is ${Math.round(skewSeconds)} s off ours; set up time synchronisation`);
  },
};
