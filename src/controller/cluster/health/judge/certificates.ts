import type { Stated } from '#api/conditions.ts';
import { reportsOf } from './host-reports.ts';
import type { Expected, Seen } from './seen.ts';
import { named, stated } from './wording.ts';

const TYPE = 'CertificatesValid';
const WARN_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;
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
  const within = (ms: number) =>
    endingsOf(seen, hosts)
      .filter(({ at }) => at.getTime() - now.getTime() <= ms)
      .map(({ of }) => of);
  const expired = [
    ...servers.filter(({ state }) => state === 'expired').map(({ ip }) => serving(ip)),
    ...within(0),
  ];
  if (expired.length > 0)
    return stated(TYPE, 'False', 'Expired', `expired are the certificates of ${named(expired)}; ${MEND}`);
  if (servers.some(({ certificateEnds }) => !certificateEnds)) return undefined;
  const soon = within(WARN_DAYS * DAY_MS);
  return soon.length > 0
    ? stated(
        TYPE,
        'True',
        'ExpiresSoon',
        `certificates end within ${WARN_DAYS} days: of ${named(soon)}; ${MEND}`,
      )
    : stated(TYPE, 'True', 'Valid', `no certificate ends within ${WARN_DAYS} days`);
}

/** Returns when the first certificate of the cluster ends; undefined if none is known. */
export const firstEnd = (seen: Seen, hosts: readonly Expected[]): Date | undefined =>
  endingsOf(seen, hosts)
    .map(({ at }) => at)
    .toSorted((a, b) => a.getTime() - b.getTime())[0];

/** Lists the ends of all known certificates: one for each host that reports or serves, and the kubeconfig's. */
function endingsOf(
  { servers, nodes = [], clientCertificateEnds }: Seen,
  hosts: readonly Expected[],
): Ending[] {
  const reports = reportsOf(nodes, hosts);
  const byHost = new Map(
    servers.flatMap(({ ip, state, certificateEnds }): [string, Ending][] =>
      certificateEnds && state !== 'expired' ? [[ip, { of: serving(ip), at: certificateEnds }]] : [],
    ),
  );
  // A host's own report covers the certificate of its API server.
  for (const { ip, name } of hosts.filter(({ joined }) => joined)) {
    const certificate = reports.get(name)?.certificate;
    if (certificate) byHost.set(ip, { of: `${name} (${ip}, ${certificate.file})`, at: certificate.ends });
  }
  return [
    ...byHost.values(),
    ...(clientCertificateEnds ? [{ of: "the kubeconfig's user", at: clientCertificateEnds }] : []),
  ];
}

const serving = (ip: string): string => `the API server at ${ip}`;
