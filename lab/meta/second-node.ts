import { readFile } from 'node:fs/promises';
import type { KubeObject, Resource } from '#api/meta.ts';
import { shortHash } from '#base/canonical.ts';
import { copyImage } from '#bootstrap/host-files.ts';
import type { Client } from '#runtime/client.ts';
import { connect } from '#ssh/connection.ts';
import type { Say } from '../artifacts/progress.ts';
import { keyPath, type LabHost } from '../hosts/places.ts';
import { operatorImages } from '../operator-images.ts';
import { play } from '../play.ts';
import { META_NETWORKS, type Meta } from './meta.ts';

const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const CONNECT_MS = 15_000;

/** Joins a host to the meta cluster as a worker that can run Jobs, so that a test may lose the node of a Job. */
export async function joinMeta(meta: Meta, host: LabHost, say: Say): Promise<void> {
  if (!(await meta.client.find(NODES, { namespace: '', name: host.name }))) {
    const cluster = {
      name: 'meta',
      id: `meta-${shortHash(meta.host.ip)}`,
      ...META_NETWORKS,
      masters: [meta.host.name],
      workers: [host.name],
      leaving: [],
      // Later than the one that made the meta cluster.
      sequence: Math.floor(Date.now() / 1000),
      attempt: 1,
    };
    await play('scale-up.yml', cluster, say);
  }
  const connection = await connect({
    host: host.ip,
    port: 22,
    user: 'root',
    privateKey: await readFile(keyPath, 'utf8'),
    knownHosts: '',
    timeoutMs: CONNECT_MS,
  });
  try {
    await copyImage(connection, (await operatorImages(say)).runner, 'matryoshka/runner', say);
  } finally {
    connection.close();
  }
}

/** `kubectl cordon` and `uncordon`. */
export async function allowPods(client: Client, node: string, allowed: boolean): Promise<void> {
  const patch = { spec: { unschedulable: !allowed } };
  await client.patch<KubeObject>(NODES, { namespace: '', name: node }, patch, { type: 'merge' });
}
