import type { Secret, Service } from '#api/core.ts';
import type { Ingress, IngressClass } from '#api/networking.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { hashOf } from '../routing/access.ts';
import type { Refusal } from '../routing/claims.ts';
import { compileRoutes } from '../routing/compile.ts';

/** Results that depend on all Ingresses together. */
export interface Verdicts {
  /** Uid → refused parts of the Ingress. */
  refusals: ReadonlyMap<string, Refusal[]>;
  /** Uids of the Ingresses of our classes. */
  served: ReadonlySet<string>;
  holds(ingress: Ingress, host: string): boolean;
}

export interface VerdictSources {
  ingresses: Informer<Ingress>;
  classes: Informer<IngressClass>;
  services: Informer<Service>;
  /** Secrets of type kubernetes.io/basic-auth. The cache keeps only the hash. */
  credentials: Informer<Secret>;
}

export const uidOf = ({ metadata }: Ingress): string => metadata.uid ?? '';

/** Computes the verdicts once for all Ingresses, as the proxies do, until a source changes. */
export function verdictsBy({ ingresses, classes, services, credentials }: VerdictSources): () => Verdicts {
  let known: Verdicts | undefined;
  const forget = () => {
    known = undefined;
  };
  for (const informer of [ingresses, classes, services, credentials])
    informer.addHandler({ add: forget, update: forget, delete: forget });

  return () => {
    if (known) return known;
    const { refusals, served, holders } = compileRoutes({
      ingresses: ingresses.list(),
      classes: classes.list(),
      service: (namespace, name) => services.get({ namespace, name }),
      slices: () => [],
      credentials: (namespace, name) => hashOf(credentials.get({ namespace, name })),
    });
    known = {
      refusals: Map.groupBy(refusals, ({ ingress }) => uidOf(ingress)),
      served: new Set(served.map(uidOf)),
      holds: ({ metadata }, host) => holders.get(host)?.namespace === metadata.namespace,
    };
    return known;
  };
}
