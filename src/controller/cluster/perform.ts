import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, finalizerOf } from '#api/names.ts';
import type { Logger } from '#base/log.ts';
import type { Installer } from '#installer/installer.ts';
import { isNotFound } from '#runtime/api-error.ts';
import type { Client } from '#runtime/client.ts';
import { type Kubeconfigs, keepKnownHosts } from './access.ts';
import type { Anchors } from './anchors.ts';
import type { Claims } from './claims.ts';
import { isUsable } from './kubeconfig.ts';
import type { Effect } from './outcome.ts';
import { writeRecord } from './record.ts';
import type { Snapshot } from './snapshot.ts';

export interface Performers {
  client: Client;
  /** The operator's namespace. */
  namespace: string;
  anchors: Anchors;
  claims: Claims;
  installer: Installer;
  kubeconfigs: Kubeconfigs;
  log: Logger;
  /** Tells people what happened to the cluster. */
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/** What effects of one reconcile learn for those that follow. */
interface Learned {
  reclaims: Map<string, string>;
}

type Perform<K extends Effect['kind']> = (
  effect: Extract<Effect, { kind: K }>,
  snapshot: Snapshot,
  deps: Performers,
  learned: Learned,
) => Promise<void>;

const keyOf = ({ cluster }: Snapshot) => ({
  namespace: cluster.metadata.namespace ?? '',
  name: cluster.metadata.name ?? '',
});
const textOf = (snapshot: Snapshot): string => `${keyOf(snapshot).namespace}/${keyOf(snapshot).name}`;

/** A metadata patch that fails with Conflict when anybody has written the object since the snapshot. */
async function patchMetadata(
  snapshot: Snapshot,
  deps: Performers,
  metadata: Record<string, unknown>,
): Promise<void> {
  const { resourceVersion } = snapshot.cluster.metadata;
  const patch = { metadata: { ...metadata, resourceVersion } };
  const key = keyOf(snapshot);
  await deps.client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, key, patch, { type: 'merge' });
}

const performers: { [K in Effect['kind']]: Perform<K> } = {
  bind: (_effect, snapshot, { anchors }) => anchors.bind(snapshot.clusterId, keyOf(snapshot)),
  adopt: (_effect, snapshot, deps) => {
    const { finalizers = [], name = '' } = snapshot.cluster.metadata;
    return patchMetadata(snapshot, deps, {
      annotations: { [annotations.clusterId]: snapshot.clusterId },
      finalizers: [...new Set([...finalizers, finalizerOf(name)])],
    });
  },
  claim: async ({ hosts }, snapshot, { claims }, learned) => {
    learned.reclaims = await claims.take(snapshot.clusterId, textOf(snapshot), hosts);
  },
  start: async ({ attempt }, snapshot, { anchors, installer }, { reclaims }) =>
    installer.start({
      ...attempt,
      reclaims: new Map([...attempt.reclaims, ...reclaims]),
      access: await anchors.accessOf(snapshot.clusterId, attempt.sequence),
    }),
  discard: async ({ attempts }, _snapshot, { installer }) => {
    for (const attempt of attempts) await installer.remove(attempt);
  },
  record: async ({ result }, { cluster, operation }, { client, log }) => {
    if (operation) await writeRecord(client, cluster, operation, result, log);
  },
  'keep-access': async ({ report }, { cluster, clusterId, now }, { client, anchors, kubeconfigs }) => {
    if (report.knownHosts) {
      const lines = await anchors.keepKnownHosts(clusterId, report.knownHosts);
      await keepKnownHosts(client, cluster, lines);
    }
    if (report.kubeconfig !== undefined && isUsable(report.kubeconfig, now))
      await kubeconfigs.keep(client, cluster, report.kubeconfig);
  },
  join: async ({ hosts }, { clusterId }, { claims }) => {
    for (const ip of hosts) await claims.mark(clusterId, ip, 'joined');
  },
  taint: async ({ hosts }, { clusterId }, { claims, event }) => {
    for (const { ip, why } of hosts) {
      await claims.mark(clusterId, ip, 'unclean', why);
      event('Warning', 'HostUnclean', `${ip} could not be reset and is remembered as unclean: ${why}`);
    }
  },
  release: ({ hosts }, { clusterId }, { claims }) => claims.release(clusterId, hosts),
  answer: ({ word, applied }, snapshot, deps) => {
    const { request, operation } = snapshot;
    const answersOther =
      applied &&
      request !== undefined &&
      (request.word !== operation?.word || request.requestId !== operation.requestId);
    return patchMetadata(snapshot, deps, {
      annotations: {
        // A word that was written while the operation ran is the next request; it stays.
        ...(answersOther ? {} : { [annotations.operation]: word }),
        ...(applied && operation ? { [annotations.appliedSpec]: JSON.stringify(operation.spec) } : {}),
      },
    });
  },
  'delete-object': async (_effect, snapshot, { client }) => {
    const { uid } = snapshot.cluster.metadata;
    await client.delete(KUBERNETES_CLUSTERS, keyOf(snapshot), { preconditions: { uid } });
  },
  'let-go': async (_effect, snapshot, deps) => {
    const { finalizers = [], name = '' } = snapshot.cluster.metadata;
    const { clusterId, claims, binding } = snapshot;
    // The cache may be behind, and a cluster that is let go cannot reset its hosts any more.
    if (claims.length === 0 && binding.kind === 'ours' && (await deps.claims.holdsAny(clusterId)))
      throw new Error(`cluster-id ${clusterId} holds claims that the cache does not show yet`);
    try {
      await patchMetadata(snapshot, deps, {
        finalizers: finalizers.filter((text) => text !== finalizerOf(name)),
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    // Should this not be reached: what an object that is gone has left is looked for (vanished.ts).
    if (binding.kind === 'ours') await deps.anchors.drop(clusterId, claims.length > 0);
  },
};

/** Runs the effects in order; the first that throws stops the rest, and a repeat starts over. */
export async function perform(
  effects: readonly Effect[],
  snapshot: Snapshot,
  deps: Performers,
): Promise<void> {
  const learned: Learned = { reclaims: new Map() };
  for (const effect of effects) await performOne(effect, snapshot, deps, learned);
}

function performOne<K extends Effect['kind']>(
  effect: Extract<Effect, { kind: K }> & { kind: K },
  snapshot: Snapshot,
  deps: Performers,
  learned: Learned,
): Promise<void> {
  return performers[effect.kind](effect, snapshot, deps, learned);
}
