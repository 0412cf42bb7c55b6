import { type Node, SERVICES, type Service } from '#api/core.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import { generationChanged, labelsChanged, watching } from '#runtime/controller/sources.ts';
import type { ControllerHost } from '#runtime/process/controller-host.ts';
import { LOCAL_SERVICES, type LocalService } from './api.ts';
import { planServices } from './plan.ts';
import { changedTo } from './service.ts';
import { outcomeOf } from './status.ts';
import { eachOnItsOwn } from './write.ts';

export const BY_OWNER = 'owner';

export interface LocalServiceDeps
  extends Pick<ControllerHost, 'client' | 'clock' | 'log' | 'recorder' | 'metrics'> {
  workers: number;
  localServices: Informer<LocalService>;
  nodes: Informer<Node>;
  /** With index `BY_OWNER`: the uid of a Service's controller. */
  services: Informer<Service>;
}

/** Pause before a write that the API server refused is tried again. */
const REFUSED_RETRY_MS = 30_000;

const isOn = ({ metadata }: Node, selector: Readonly<Record<string, string>> = {}): boolean =>
  Object.entries(selector).every(([label, value]) => metadata.labels?.[label] === value);

/** Keeps a Service for every node that a LocalService selects; it sends traffic to the pods on that node. */
export function localServiceController(deps: LocalServiceDeps): Controller {
  const { clock, log, localServices, nodes, services, recorder, workers } = deps;

  return createController<LocalService>({
    name: 'localservice',
    for: localServices,
    // Writes of status trigger no reconcile.
    predicates: [generationChanged],
    watches: [
      // Only a node's labels matter here, not its heartbeats.
      watching(nodes, () => localServices.list().map(keyOf), labelsChanged),
      // Services of the LocalService, and Services whose names it may need: a freed name is taken.
      watching(services, ({ metadata: { namespace, name = '' } }) =>
        localServices
          .list(namespace)
          .filter((local) => name.startsWith(`${local.metadata.name}-`))
          .map(keyOf),
      ),
    ],
    workers,
    clock,
    log,
    observe: deps.metrics?.controller('localservice', workers),
    async reconcile(key, context) {
      const local = localServices.get(key);
      // The object is deleted, and the garbage collector removes its Services.
      if (!local || local.metadata.deletionTimestamp) return undefined;
      const client = scopedClient(deps.client, context);
      const plan = planServices(local, {
        nodes: nodes.list().filter((node) => isOn(node, local.spec.nodeSelector)),
        // A Service of another namespace with our uid does not belong to this LocalService.
        mine: services
          .byIndex(BY_OWNER, local.metadata.uid ?? '')
          .filter(({ metadata }) => metadata.namespace === key.namespace),
        serviceNamed: (name) => services.get({ ...key, name }),
      });

      const { each, refused } = eachOnItsOwn();
      const removed = await each(plan.remove, ({ metadata: { name = '', uid } }) =>
        client.delete(SERVICES, { ...key, name }, { preconditions: { uid } }),
      );
      const made = await each(plan.create, (service) => client.create(SERVICES, service));
      const changed = await each(plan.change, ({ there, wanted }) =>
        client.update(SERVICES, changedTo(there, wanted)),
      );

      const { status, notices } = outcomeOf(local, { plan, made, changed, removed, refused }, clock.now());
      if (canonicalJson(status) !== canonicalJson(local.status))
        await client.updateStatus<LocalService>(LOCAL_SERVICES, { ...local, status });
      for (const { type, reason, message } of notices) recorder.event(local, type, reason, message);
      return refused.length > 0 ? { requeueAfterMs: REFUSED_RETRY_MS } : undefined;
    },
  });
}
