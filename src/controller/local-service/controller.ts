import pMap from 'p-map';
import { type Node, SERVICES, type Service } from '#api/core.ts';
import { LOCAL_SERVICES, type LocalService } from '#api/local-service.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import { generationChanged, watching } from '#runtime/controller/sources.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import type { ControllerHost } from '../host.ts';
import { planServices } from './plan.ts';
import { changedTo } from './service.ts';
import { outcomeOf } from './status.ts';

export const BY_OWNER = 'owner';

export interface LocalServiceDeps
  extends Pick<ControllerHost, 'client' | 'clock' | 'log' | 'recorder' | 'metrics'> {
  workers: number;
  localServices: Informer<LocalService>;
  nodes: Informer<Node>;
  /** With index `BY_OWNER`: the uid of what controls a Service. */
  services: Informer<Service>;
}

/** Writes of one LocalService at once: there may be one for each node. */
const AT_ONCE = 16;
/** How long what the API server refuses is left alone. */
const REFUSED_RETRY_MS = 30_000;

const isOn = ({ metadata }: Node, selector: Readonly<Record<string, string>> = {}): boolean =>
  Object.entries(selector).every(([label, value]) => metadata.labels?.[label] === value);

/** For every node that a LocalService selects, a Service that leads to its pods there. */
export function localServiceController(deps: LocalServiceDeps): Controller {
  const { clock, log, localServices, nodes, services, recorder, workers } = deps;

  return createController<LocalService>({
    name: 'localservice',
    for: localServices,
    // Its own status wakes nobody.
    predicates: [generationChanged],
    watches: [
      watching(nodes, () => localServices.list().map(keyOf)),
      // Its own, and those whose names it may want: what others give up is taken.
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
      // Deleted: the garbage collector takes its Services.
      if (!local || local.metadata.deletionTimestamp) return undefined;
      const client = scopedClient(deps.client, context);
      const plan = planServices(local, {
        nodes: nodes.list().filter((node) => isOn(node, local.spec.nodeSelector)),
        // Whoever writes our uid into a Service of another namespace has none of ours.
        mine: services
          .byIndex(BY_OWNER, local.metadata.uid ?? '')
          .filter(({ metadata }) => metadata.namespace === key.namespace),
        serviceNamed: (name) => services.get({ ...key, name }),
      });

      const refused: string[] = [];
      /** What the API server refuses for one node keeps no other from its Service. Answers how many were written. */
      const each = async <T>(items: readonly T[], write: (item: T) => Promise<unknown>): Promise<number> => {
        const how = { concurrency: AT_ONCE, stopOnError: false };
        const wrote = await pMap(items, (item) => write(item).then(() => 1, passedBy), how).catch(
          (error: unknown) => {
            // All were tried; the first tells why the key comes back.
            throw error instanceof AggregateError ? error.errors[0] : error;
          },
        );
        return wrote.reduce((sum, one) => sum + one, 0);
      };
      const passedBy = (error: unknown): number => {
        // A webhook that gives no code denies by a bad request.
        if (isApiError(error, 'Invalid', 'Forbidden', 'BadRequest')) refused.push(error.message);
        // Made, changed or removed by somebody meanwhile: its event wakes the key.
        else if (!isApiError(error, 'AlreadyExists', 'NotFound', 'Conflict')) throw error;
        return 0;
      };
      const removed = await each(plan.remove, ({ metadata: { name = '', uid } }) =>
        client.delete(SERVICES, { ...key, name }, { preconditions: { uid } }),
      );
      const made = await each(plan.create, (service) => client.create(SERVICES, service));
      const changed = await each(plan.change, ({ there, wanted }) =>
        client.update(SERVICES, changedTo(there, wanted)),
      );

      const { status, tellings } = outcomeOf(local, { plan, made, changed, removed, refused }, clock.now());
      if (canonicalJson(status) !== canonicalJson(local.status))
        await client.updateStatus<LocalService>(LOCAL_SERVICES, { ...local, status });
      for (const { type, reason, message } of tellings) recorder.event(local, type, reason, message);
      return refused.length > 0 ? { requeueAfterMs: REFUSED_RETRY_MS } : undefined;
    },
  });
}
