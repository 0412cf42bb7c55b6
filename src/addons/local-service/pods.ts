import { PODS, type Pod } from '#api/core.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import { watching } from '#runtime/controller/sources.ts';
import type { ControllerHost } from '#runtime/process/controller-host.ts';
import { isApiError, isNotFound } from '#runtime/wire/api-error.ts';
import { type LocalService, RACK_LABEL } from './api.ts';
import { rackOf } from './names.ts';

const FIELD_MANAGER = 'matryoshka-localservice';

export interface RackDeps extends Pick<ControllerHost, 'client' | 'clock' | 'log' | 'metrics'> {
  workers: number;
  localServices: Informer<LocalService>;
  pods: Informer<Pod>;
}

const selects = ({ spec }: LocalService, { metadata }: Pod): boolean =>
  Object.entries(spec.selector).every(([label, value]) => metadata.labels?.[label] === value);

/** Returns the value that the label of a pod should have; undefined if nothing needs to be written. */
function lackingRack(pod: Pod, localServices: readonly LocalService[]): string | undefined {
  const { nodeName } = pod.spec ?? {};
  if (nodeName === undefined || nodeName === '') return undefined;
  const rack = rackOf(nodeName);
  if (pod.metadata.labels?.[RACK_LABEL] === rack) return undefined;
  return localServices.some((local) => selects(local, pod)) ? rack : undefined;
}

/**
 * Keeps label `vm/rack` of pods that a LocalService selects equal to the name of their node. It applies one field, and only
 * if it differs. Pods that no LocalService selects are never written.
 */
export function rackController({ localServices, pods, ...deps }: RackDeps): Controller {
  const { clock, log, workers } = deps;
  return createController<Pod>({
    name: 'localservice-pods',
    for: pods,
    predicates: [({ after }) => after !== undefined],
    watches: [
      watching(localServices, (local) =>
        pods
          .list(local.metadata.namespace)
          .filter((pod) => lackingRack(pod, [local]) !== undefined)
          .map(keyOf),
      ),
    ],
    workers,
    clock,
    log,
    observe: deps.metrics?.controller('localservice-pods', workers),
    async reconcile(key, context) {
      const pod = pods.get(key);
      if (!pod) return;
      const rack = lackingRack(pod, localServices.list(key.namespace));
      if (rack === undefined) return;
      const { uid = '' } = pod.metadata;
      // With the uid, the API server rejects the write if another pod has the name by now.
      const metadata = { ...key, uid, labels: { [RACK_LABEL]: rack } };
      try {
        await scopedClient(deps.client, context).apply(
          PODS,
          { metadata },
          { fieldManager: FIELD_MANAGER, force: true },
        );
      } catch (error) {
        // The pod was deleted meanwhile, or another pod has its name.
        if (!isNotFound(error) && !isApiError(error, 'Conflict', 'Invalid')) throw error;
      }
    },
  });
}
