import type { KubeObject, Resource } from '#api/meta.ts';
import { type MemoryProvider, memoryProvider } from '#bridges/testing/memory-provider.ts';
import type { InformerView } from '#installer/installer.ts';
import type { ControllerModule } from '../host.ts';
import { type NeighbourWorld, useNeighbour } from '../testing/neighbour-world.fixture.ts';
import { network, networkModule } from './module.ts';

/** How often these look at their hosts. */
const RESYNC_MS = 500;

/**
 * Networks of one namespace, with hosts in memory, by the rights of the installation: those of other test files, which have
 * hosts of their own, are left to these.
 */
export function useNetworks(): {
  test: NeighbourWorld;
  provider: MemoryProvider;
} {
  const provider = memoryProvider();
  const all = networkModule({ provider, resyncMs: RESYNC_MS });
  const module: ControllerModule = (host) =>
    all({
      ...host,
      informer: <T extends KubeObject>(resource: Resource, view?: InformerView<T>) =>
        host.informer<T>(resource, { ...view, selection: { namespace: test.namespace } }),
    });
  const test = useNeighbour({ ...network, module });
  return { test, provider };
}
