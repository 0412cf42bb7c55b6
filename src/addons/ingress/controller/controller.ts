/** Reconciles the status of Ingresses and reports their problems as Events; the proxies route the traffic. */

import { type Secret, type Service, secretText } from '#api/core.ts';
import type { ObjectKey } from '#api/meta.ts';
import { INGRESSES, type Ingress, type IngressClass } from '#api/networking.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import { watching } from '#runtime/controller/sources.ts';
import type { ControllerHost } from '#runtime/process/controller-host.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { hostsOf } from '../routing/claims.ts';
import { lacksClass } from '../routing/classes.ts';
import { addressesOf, presentOf } from './addresses.ts';
import { NO_CLASS, problemsOf } from './problems.ts';
import { createReporter } from './reporter.ts';
import { uidOf, verdictsBy } from './verdicts.ts';

/** Key in a cached Secret: why its certificate cannot be shown. Absent if it can be shown. */
export const PROBLEM = 'problem';

/** Index of Ingresses: the hosts that they name, and the wildcards that cover these hosts. */
export const BY_HOST = 'host';

export interface IngressDeps
  extends Pick<ControllerHost, 'client' | 'clock' | 'log' | 'recorder' | 'metrics'> {
  workers: number;
  /** Service whose addresses all Ingresses get. */
  proxy: ObjectKey;
  /** With index `BY_HOST`. */
  ingresses: Informer<Ingress>;
  classes: Informer<IngressClass>;
  services: Informer<Service>;
  secrets: Informer<Secret>;
  credentials: Informer<Secret>;
}

/** Writes the addresses of each Ingress, and reports problems as Events. The proxies compile their routes themselves. */
export function ingressController(deps: IngressDeps): Controller {
  const { clock, log, ingresses, classes, services, secrets, credentials, proxy, workers } = deps;
  const judge = verdictsBy(deps);
  const report = createReporter(deps, ingresses);
  const all = () => ingresses.list().map(keyOf);
  const inNamespace = (namespace = '') => ingresses.list(namespace).map(keyOf);

  return createController<Ingress>({
    name: 'ingress',
    for: ingresses,
    watches: [
      // An Ingress with the same host, or a wildcard that covers it, may gain or lose the host.
      watching(ingresses, (changed) =>
        hostsOf(changed).flatMap((host) => ingresses.byIndex(BY_HOST, host).map(keyOf)),
      ),
      watching(classes, all),
      watching(services, ({ metadata: { namespace, name } }) =>
        namespace === proxy.namespace && name === proxy.name ? all() : inNamespace(namespace),
      ),
      ...[secrets, credentials].map((of) => watching(of, ({ metadata }) => inNamespace(metadata.namespace))),
    ],
    workers,
    clock,
    log,
    observe: deps.metrics?.controller('ingress', workers),
    async reconcile(key, context) {
      const ingress = ingresses.get(key);
      const { served, refusals, holds } = judge();
      // A deleted Ingress takes its status with it.
      if (!ingress || ingress.metadata.deletionTimestamp) return;
      if (!served.has(uidOf(ingress))) {
        // A controller that serves Ingresses without a class writes their status.
        const isUnserved = lacksClass(classes.list(), ingress) && presentOf(ingress).length === 0;
        report(ingress, isUnserved ? [NO_CLASS] : []);
        return;
      }
      const held = hostsOf(ingress).filter((host) => holds(ingress, host));
      const [uid, wanted] = [uidOf(ingress), held.length > 0 ? addressesOf(services.get(proxy)) : []];
      report(
        ingress,
        problemsOf(ingress, held, refusals.get(uid) ?? [], (name) => {
          const secret = secrets.get({ namespace: key.namespace, name });
          return secret ? { problem: secretText(secret, PROBLEM) } : undefined;
        }),
      );
      if (canonicalJson(presentOf(ingress)) === canonicalJson(wanted)) return;
      try {
        await scopedClient(deps.client, context).patch<Ingress>(
          INGRESSES,
          key,
          // With the uid, the API server rejects the write if another object has the name by now.
          { metadata: { uid }, status: { loadBalancer: { ingress: wanted.length > 0 ? wanted : null } } },
          { type: 'merge', subresource: 'status' },
        );
      } catch (error) {
        // Another client deleted it meanwhile, or another object has its name. That event triggers a reconcile.
        if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
      }
    },
  });
}
