import type { KubeObject, Resource } from '#api/meta.ts';
import { shortHash } from '#base/canonical.ts';
import type { Client } from '#runtime/client/client.ts';
import type { Say } from '../artifacts/progress.ts';
import type { LabHost } from '../hosts/places.ts';
import { play } from '../play.ts';
import { META_NETWORKS, META_NODE, type Meta } from './meta.ts';

const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

/** Joins a host to the meta cluster as a worker that can run Jobs, so that a test may lose a Job's node. */
export async function joinMeta(meta: Meta, host: LabHost, say: Say): Promise<void> {
  if (!(await meta.client.find(NODES, { namespace: '', name: host.name }))) {
    const cluster = {
      name: 'meta',
      id: `meta-${shortHash(meta.host.ip)}`,
      ...META_NETWORKS,
      masters: [meta.host.name],
      nodeNames: { [meta.host.name]: META_NODE },
      workers: [host.name],
      leaving: [],
      // This sequence is later than that of the meta cluster's creation.
      sequence: Math.floor(Date.now() / 1000),
      attempt: 1,
      // The host pulls the operator's images from this server, so they are not copied to it.
      vars: { images_mirror: meta.artifactsUrl, images_mirrored_registries: ['docker.io'] },
    };
    await play('scale-up.yml', cluster, say);
  }
}

/** Does what `kubectl cordon` and `kubectl uncordon` do. */
export async function allowPods(client: Client, node: string, allowed: boolean): Promise<void> {
  const patch = { spec: { unschedulable: !allowed } };
  await client.patch<KubeObject>(NODES, { namespace: '', name: node }, patch, { type: 'merge' });
}
