import { type Secret, type Service, secretText } from '#api/core.ts';
import type { ObjectKey } from '#api/meta.ts';
import { INGRESSES, type Ingress, type IngressAddress, type IngressClass } from '#api/networking.ts';
import { canonicalJson } from '#base/canonical.ts';
import { hostsOf, type Refusal } from '#routing/claims.ts';
import { compileRoutes } from '#routing/compile.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import { watching } from '#runtime/controller/sources.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import type { ControllerHost } from '../host.ts';
import { addressesOf } from './addresses.ts';
import { problemsOf, type Telling } from './problems.ts';

/** Key of what the cache keeps of a Secret: why its certificate cannot be shown; absent: it can. */
export const PROBLEM = 'problem';

/** Index of Ingresses: the hosts that they name. */
export const BY_HOST = 'host';

export interface IngressDeps
  extends Pick<ControllerHost, 'client' | 'clock' | 'log' | 'recorder' | 'metrics'> {
  workers: number;
  /** The Service whose addresses are those of all Ingresses. */
  proxy: ObjectKey;
  /** With index `BY_HOST`. */
  ingresses: Informer<Ingress>;
  classes: Informer<IngressClass>;
  services: Informer<Service>;
  secrets: Informer<Secret>;
}

interface Known {
  refusals: ReadonlyMap<string, Refusal[]>;
  served: ReadonlySet<string>;
  holds(ingress: Ingress, host: string): boolean;
}
const uidOf = ({ metadata }: Ingress): string => metadata.uid ?? '';

/** Tells each Ingress where it is served, and what of it is not. Its routes are the proxies' own affair. */
export function ingressController(deps: IngressDeps): Controller {
  const { clock, log, ingresses, classes, services, secrets, recorder, proxy, workers } = deps;
  /** What was told last, by uid: each is told once. */
  const told = new Map<string, string>();
  let known: Known | undefined;
  const forget = () => {
    known = undefined;
  };
  for (const informer of [ingresses, classes, services])
    informer.addHandler({ add: forget, update: forget, delete: forget });

  ingresses.addHandler({ delete: (gone) => void told.delete(uidOf(gone)) });

  /** Computed once for all Ingresses, until something changes. */
  function look(): Known {
    if (known) return known;
    const { refusals, served, holders } = compileRoutes({
      ingresses: ingresses.list(),
      classes: classes.list(),
      service: (namespace, name) => services.get({ namespace, name }),
      slices: () => [],
    });
    known = {
      refusals: Map.groupBy(refusals, ({ ingress }) => uidOf(ingress)),
      served: new Set(served.map(uidOf)),
      holds: ({ metadata }, host) => holders.get(host)?.namespace === metadata.namespace,
    };
    return known;
  }

  const all = () => ingresses.list().map(keyOf);
  const inNamespace = (namespace = '') => ingresses.list(namespace).map(keyOf);

  return createController<Ingress>({
    name: 'ingress',
    for: ingresses,
    watches: [
      // Whoever names the same host may get it now, or have lost it.
      watching(ingresses, (changed) =>
        hostsOf(changed).flatMap((host) => ingresses.byIndex(BY_HOST, host).map(keyOf)),
      ),
      watching(classes, all),
      watching(services, ({ metadata: { namespace, name } }) =>
        namespace === proxy.namespace && name === proxy.name ? all() : inNamespace(namespace),
      ),
      watching(secrets, ({ metadata }) => inNamespace(metadata.namespace)),
    ],
    workers,
    clock,
    log,
    observe: deps.metrics?.controller('ingress', workers),
    async reconcile(key, context) {
      const ingress = ingresses.get(key);
      const { served, refusals, holds } = look();
      // What another controller serves is his to write; what is deleted takes its status with it.
      if (!ingress || ingress.metadata.deletionTimestamp || !served.has(uidOf(ingress))) return;
      const held = hostsOf(ingress).filter((host) => holds(ingress, host));
      const wanted = held.length > 0 ? addressesOf(services.get(proxy)) : [];
      const uid = uidOf(ingress);
      tell(
        ingress,
        problemsOf(ingress, held, refusals.get(uid) ?? [], (name) => {
          const secret = secrets.get({ namespace: key.namespace, name });
          return secret ? { problem: secretText(secret, PROBLEM) } : undefined;
        }),
      );
      const present: IngressAddress[] = (ingress.status?.loadBalancer?.ingress ?? []).map(
        ({ ip, hostname }) => ({
          ...(ip === undefined ? {} : { ip }),
          ...(hostname === undefined ? {} : { hostname }),
        }),
      );
      if (canonicalJson(present) === canonicalJson(wanted)) return;
      try {
        await scopedClient(deps.client, context).patch<Ingress>(
          INGRESSES,
          key,
          // With its uid: another of its name is not written.
          { metadata: { uid }, status: { loadBalancer: { ingress: wanted.length > 0 ? wanted : null } } },
          { type: 'merge', subresource: 'status' },
        );
      } catch (error) {
        // It went meanwhile, or another has its name: its event wakes the key.
        if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
      }
    },
  });

  function tell(ingress: Ingress, problems: readonly Telling[]): void {
    const uid = uidOf(ingress);
    const before = new Set((told.get(uid) ?? '').split('\n'));
    for (const { reason, message } of problems)
      if (!before.has(`${reason} ${message}`)) recorder.event(ingress, 'Warning', reason, message);
    if (problems.length === 0) told.delete(uid);
    else told.set(uid, problems.map(({ reason, message }) => `${reason} ${message}`).join('\n'));
  }
}
