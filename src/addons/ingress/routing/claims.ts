import type { Ingress } from '#api/networking.ts';
import { ANY_HOST, hostOf, wildcardOf } from './hosts.ts';

/** Part of an Ingress that is not served; reported as an Event. */
export interface Refusal {
  ingress: Ingress;
  reason:
    | 'HostTaken'
    | 'PathTaken'
    | 'DefaultBackendTaken'
    | 'PathTooLong'
    | 'PathUnsafe'
    | 'AnnotationInvalid'
    | 'BackendNotFound'
    | 'BackendNotServed';
  message: string;
}

const ageOf = ({ metadata }: Ingress): string => metadata.creationTimestamp ?? '9999';
const nameOf = ({ metadata }: Ingress): string => `${metadata.namespace}/${metadata.name}`;

/** Sorts the oldest first. Ties are decided by namespace and name, so all replicas decide alike. */
export const byAge = (ingresses: readonly Ingress[]): Ingress[] =>
  ingresses.toSorted((a, b) => {
    const [one, other] = [`${ageOf(a)} ${nameOf(a)}`, `${ageOf(b)} ${nameOf(b)}`];
    return one < other ? -1 : one > other ? 1 : 0;
  });

/** Lists the hosts that an Ingress names; ANY_HOST for a default backend or a rule without a host. */
export function hostsOf({ spec }: Ingress): string[] {
  const hosts = (spec?.rules ?? []).map(({ host }) => hostOf(host ?? ''));
  return [...new Set(spec?.defaultBackend ? [...hosts, ANY_HOST] : hosts)];
}

/** Holder of a host: the namespace of the oldest Ingress that names it, and that Ingress's name. */
export interface Holder {
  namespace: string;
  name: string;
}

/** Lists the hosts that decide which hosts an Ingress gets: its own, and the wildcards that cover them. */
export const rivalHostsOf = (ingress: Ingress): string[] => [
  ...new Set(hostsOf(ingress).flatMap((host) => [host, wildcardOf(host) ?? host])),
];

/**
 * Assigns every host to one namespace. The holder of a wildcard holds each name below it that no older Ingress names. A
 * younger wildcard takes no names below it. Returns the holders by host, and a refusal for each Ingress and host that
 * belongs to another namespace.
 */
export function claimHosts(oldestFirst: readonly Ingress[]): {
  holders: ReadonlyMap<string, Holder>;
  refusals: Refusal[];
} {
  const holders = new Map<string, Holder>();
  const refusals: Refusal[] = [];
  for (const ingress of oldestFirst) {
    const { namespace = '', name = '' } = ingress.metadata;
    for (const host of hostsOf(ingress)) {
      const own = holders.get(host);
      const holder = own ?? holders.get(wildcardOf(host) ?? host);
      if (holder && holder.namespace !== namespace) refusals.push({ ingress, ...taken(host, !own) });
      else if (!own) holders.set(host, { namespace, name });
    }
  }
  return { holders, refusals };
}

/**
 * Returns the certificate to show for each host (host → `namespace/name` of the Secret); read it with `byHost`. A host gets
 * its own usable certificate, else its holder's for the wildcard that covers it or for any host. A host gets null if only
 * another namespace has such a certificate.
 */
export function shownFor(
  holders: ReadonlyMap<string, Holder>,
  usable: ReadonlyMap<string, string>,
): Map<string, string | null> {
  const shown = new Map<string, string | null>(usable);
  for (const [host, { namespace }] of holders) {
    if (usable.has(host)) continue;
    const covering = [wildcardOf(host) ?? ANY_HOST, ANY_HOST].flatMap((name) => usable.get(name) ?? []);
    const own = covering.find((name) => name.startsWith(`${namespace}/`));
    if (covering.length > 0) shown.set(host, own ?? null);
  }
  return shown;
}

/** Names no namespace, because a tenant must not learn of other tenants. */
function taken(host: string, isCovered: boolean): Pick<Refusal, 'reason' | 'message'> {
  const what =
    host === ANY_HOST ? 'requests for hosts that no Ingress names belong' : `host "${host}" belongs`;
  const covered = isCovered ? `, whose wildcard "${wildcardOf(host)}" covers it` : '';
  return {
    reason: 'HostTaken',
    message: `${what} to an older Ingress of another namespace${covered}; choose another host`,
  };
}
