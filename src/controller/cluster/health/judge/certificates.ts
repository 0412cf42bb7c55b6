import type { Stated } from '#api/conditions.ts';
import type { Seen } from './seen.ts';
import { named, stated } from './wording.ts';

const TYPE = 'CertificatesValid';
const WARN_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;

/**
 * Decides `CertificatesValid` for the API servers' serving certificates and the kubeconfig's client certificate. The message
 * contains no dates, so that probes do not change it. Undefined if an API server has not shown its certificate yet: the
 * former condition stays.
 */
export function judgeCertificates(
  { blind, servers, clientCertificateEnds }: Seen,
  now: Date,
): Stated | undefined {
  if (blind) return stated(TYPE, 'Unknown', blind.reason, blind.message);
  const expired = servers.filter(({ state }) => state === 'expired').map(({ ip }) => serving(ip));
  const ends = [
    ...servers
      .filter(({ state }) => state !== 'expired')
      .map(({ ip, certificateEnds }) => ({ of: serving(ip), at: certificateEnds })),
    { of: "the kubeconfig's user", at: clientCertificateEnds },
  ].flatMap(({ of, at }) => (at ? [{ of, ms: at.getTime() - now.getTime() }] : []));
  expired.push(...ends.filter(({ ms }) => ms <= 0).map(({ of }) => of));
  if (expired.length > 0)
    return stated(TYPE, 'False', 'Expired', `expired are the certificates of ${named(expired)}`);
  if (servers.some(({ certificateEnds }) => !certificateEnds)) return undefined;
  const soon = ends.filter(({ ms }) => ms < WARN_DAYS * DAY_MS).map(({ of }) => of);
  return soon.length > 0
    ? stated(TYPE, 'True', 'ExpiresSoon', `certificates end within ${WARN_DAYS} days: of ${named(soon)}`)
    : stated(TYPE, 'True', 'Valid', `no certificate ends within ${WARN_DAYS} days`);
}

const serving = (ip: string): string => `the API server at ${ip}`;
