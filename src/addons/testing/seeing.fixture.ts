import type { KubeObject, Resource } from '#api/meta.ts';
import type { InformerView } from '#runtime/cache/informer.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';

/** Selects the objects of a kind that a controller under test sees. */
export type Sight = <T extends KubeObject>(
  resource: Resource,
) => Pick<InformerView<T>, 'selection' | 'transform'>;

/** Restricts a module to these objects: other tests have objects on the same API server. */
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

/** Selects one namespace, and objects without a namespace. */
export const within =
  (namespace: string): Sight =>
  ({ namespaced }) =>
    namespaced ? { selection: { namespace } } : {};
