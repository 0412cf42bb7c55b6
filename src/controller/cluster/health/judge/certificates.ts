import type { Stated } from '#api/conditions.ts';
import { reportsOf } from './host-reports.ts';
import type { Expected, Seen } from './seen.ts';
import { named, stated } from './wording.ts';

const TYPE = 'CertificatesValid';
const WARN_DAYS = 30;
const WARN_MS = WARN_DAYS * 24 * 60 * 60_000;
const MEND = 'set the operation to "renewing" (REST: POST …/renew) to renew them';

/** A certificate, or the first of a host, and when it ends. */
interface Ending {
  of: string;
  at: Date;
}

/**
 * Decides `CertificatesValid` for the certificates on all hosts, the API servers' serving certificates, and the kubeconfig's
 * client certificate. The message contains no dates, so that probes do not change it. Undefined if an API server has not
 * shown its certificate yet: the former condition stays.
 */
export function judgeCertificates(seen: Seen, hosts: readonly Expected[], now: Date): Stated | undefined {
  const { blind, servers } = seen;
  if (blind) return stated(TYPE, 'Unknown', blind.reason, blind.message);
  const endings = endingsOf(seen, hosts);
  const authorities = authoritiesOf(seen, hosts);
  const expired = [
    ...servers.filter(({ state }) => state === 'expired').map(({ ip }) => serving(ip)),
    ...within(endings, now, 0),
  ];
  if (expired.length > 0)
    return stated(TYPE, 'False', 'Expired', `expired are the certificates of ${named(expired)}; ${MEND}`);
  const dead = within(authorities, now, 0);
  if (dead.length > 0) return stated(TYPE, 'False', 'Expired', `expired are ${named(dead)}`);
  if (servers.some(({ certificateEnds }) => !certificateEnds)) return undefined;
  const soon = within(endings, now, WARN_MS);
  if (soon.length > 0)
    return stated(
      TYPE,
      'True',
      'ExpiresSoon',
      `certificates end within ${WARN_DAYS} days: of ${named(soon)}; ${MEND}`,
    );
  const dying = within(authorities, now, WARN_MS);
  return dying.length > 0
    ? stated(TYPE, 'True', 'ExpiresSoon', `within ${WARN_DAYS} days end ${named(dying)}`)
    : stated(TYPE, 'True', 'Valid', `no certificate ends within ${WARN_DAYS} days`);
}

const within = (endings: readonly Ending[], now: Date, ms: number): string[] =>
  endings.filter(({ at }) => at.getTime() - now.getTime() <= ms).map(({ of }) => of);

const byTime = (a: Ending, b: Ending): number => a.at.getTime() - b.at.getTime();

/** Returns when the first certificate ends, of those that a renewal issues; undefined if none is known. */
export const firstEnd = (seen: Seen, hosts: readonly Expected[]): Date | undefined =>
  endingsOf(seen, hosts).toSorted(byTime)[0]?.at;

/** Lists the first end of each host that reports or serves, and the kubeconfig's. */
function endingsOf(seen: Seen, hosts: readonly Expected[]): Ending[] {
  const { servers, clientCertificateEnds } = seen;
  const served = servers.flatMap(({ ip, state, certificateEnds }): [string, Ending][] =>
    certificateEnds && state !== 'expired' ? [[ip, { of: serving(ip), at: certificateEnds }]] : [],
  );
  const first = new Map<string, Ending>();
  for (const [ip, ending] of [...reportedOf('certificate', seen, hosts), ...served]) {
    const known = first.get(ip);
    if (!known || byTime(ending, known) < 0) first.set(ip, ending);
  }
  return [
    ...first.values(),
    ...(clientCertificateEnds ? [{ of: "the kubeconfig's user", at: clientCertificateEnds }] : []),
  ];
}

const authoritiesOf = (seen: Seen, hosts: readonly Expected[]): Ending[] =>
  reportedOf('authority', seen, hosts).map(([, { of, at }]) => ({ of: `authority ${of}`, at }));

/** Lists what joined hosts report of themselves, by address. */
function reportedOf(
  what: 'certificate' | 'authority',
  { nodes = [] }: Seen,
  hosts: readonly Expected[],
): [string, Ending][] {
  const reports = reportsOf(nodes, hosts);
  return hosts.flatMap(({ ip, name, joined }): [string, Ending][] => {
    const found = joined ? reports.get(name)?.[what] : undefined;
    return found ? [[ip, { of: `${name} (${ip}, ${found.file})`, at: found.ends }]] : [];
  });
}

const serving = (ip: string): string => `the API server at ${ip}`;
