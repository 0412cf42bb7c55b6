import ipaddr from 'ipaddr.js';
import { fingerprintOf } from '#access/access.ts';
import type { Clock } from '#base/clock.ts';
import { recentMap } from '#base/recent-map.ts';
import { HttpError } from '../http/errors.ts';

/** Requests of one address without a known valid token: first at once, then for each second. */
const BURST = 100;
const PER_SECOND = 20;
/** Most addresses and tokens that are remembered; the oldest are dropped first. */
const ADDRESSES = 10_000;
const TOKENS = 10_000;
/** Clients often share an address (NAT, a node): one with a recently valid token does not wait for others. */
const VALID_MS = 10 * 60_000;

/** Limits requests without a valid token, by client address. */
export interface Strangers {
  /**
   * Counts a request unless its token was valid recently. Call the returned function once the token proves valid: it takes
   * the count of this request back, and remembers the token by its hash. Throws HttpError 429 if the address has sent too
   * many.
   */
  admit(ip: string, authorization: string | undefined): () => void;
}

/** Returns the address that counts: for IPv6 the /64, because one client usually has all of it. */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv4') return address.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString();
}

export function strangersBy(clock: Clock): Strangers {
  const left = recentMap<{ requests: number; atMs: number }>(ADDRESSES);
  const valid = recentMap<number>(TOKENS);

  function bucketOf(ip: string): { requests: number; atMs: number } {
    const now = clock.monotonicMs();
    const network = networkOf(ip);
    const { requests, atMs } = left.get(network) ?? { requests: BURST, atMs: now };
    const bucket = { requests: Math.min(BURST, requests + ((now - atMs) * PER_SECOND) / 1000), atMs: now };
    left.set(network, bucket);
    return bucket;
  }

  return {
    admit(ip, authorization) {
      const fingerprint = authorization === undefined ? undefined : fingerprintOf(authorization);
      const remember = (): void => {
        if (fingerprint !== undefined) valid.set(fingerprint, clock.monotonicMs() + VALID_MS);
      };
      const untilMs = fingerprint === undefined ? undefined : valid.get(fingerprint);
      if (untilMs !== undefined && untilMs > clock.monotonicMs()) return remember;
      const bucket = bucketOf(ip);
      if (bucket.requests < 1)
        throw new HttpError(
          429,
          'too many requests without a valid token come from your address; try again later',
        );
      bucket.requests -= 1;
      return () => {
        remember();
        bucketOf(ip).requests += 1;
      };
    },
  };
}
