import type { KubeObject, Resource } from '#api/meta.ts';
import type { InformerView } from '#runtime/cache/informer.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';

/** What of a kind a controller under test sees besides what it asks for itself. */
export type Sight = <T extends KubeObject>(
  resource: Resource,
) => Pick<InformerView<T>, 'selection' | 'transform'>;

/** A module that sees no more than that: other tests have their objects on the same API server. */
export const seeing =
  (module: ControllerModule, sight: Sight): ControllerModule =>
  (host) =>
    module({
      ...host,
      informer<T extends KubeObject>(resource: Resource, view: InformerView<T> = {}) {
        const { selection, ...more } = sight<T>(resource);
        return host.informer<T>(resource, {
          ...view,
          ...more,
          selection: { ...view.selection, ...selection },
        });
      },
    });

/** One namespace, and what has none. */
export const within =
  (namespace: string): Sight =>
  ({ namespaced }) =>
    namespaced ? { selection: { namespace } } : {};
