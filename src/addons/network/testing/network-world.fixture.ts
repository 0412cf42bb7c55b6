import type { KubeObject, Resource } from '#api/meta.ts';
import type { TestNamespace } from '#runtime/testing/test-namespace.ts';
import { type AddonWorld, useAddon } from '../../testing/addon-world.fixture.ts';
import { network, networkModule } from '../addon.ts';
import { type MemoryProvider, memoryProvider } from '../bridges/testing/memory-provider.ts';

const ROLE_BINDINGS: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};
/** Interval between checks of hosts. */
const RESYNC_MS = 500;

/**
 * Runs the add-on for the Networks of one namespace, with hosts in memory or real ones, and with the rights of the
 * installation. It leaves Networks of other test files alone, which have separate hosts.
 */
export function useNetworks({ overSsh = false } = {}): {
  test: AddonWorld;
  provider: MemoryProvider;
} {
  const provider = memoryProvider();
  const module = networkModule({ ...(overSsh ? {} : { provider }), resyncMs: RESYNC_MS });
  const test = useAddon({ ...network, module });
  return { test, provider };
}

/** Lets the controller read the Secrets of a test's namespace, as an administrator does. */
export async function serve({ client, key }: TestNamespace): Promise<void> {
  const binding: KubeObject & Record<string, unknown> = {
    metadata: key('served'),
    roleRef: {
      apiGroup: ROLE_BINDINGS.group,
      kind: 'ClusterRole',
      name: 'matryoshka-network-served-namespace',
    },
    subjects: [{ kind: 'ServiceAccount', name: 'matryoshka-network', namespace: 'matryoshka-network' }],
  };
  await client.create(ROLE_BINDINGS, binding);
}
