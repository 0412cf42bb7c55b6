import { randomUUID } from 'node:crypto';
import type { User } from '#access/permissions.ts';
import { isDryRun } from '#api/cluster-facts.ts';
import { type ClusterSpec, KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { operationAsked } from '#api/words.ts';
import type { Problem } from '#base/errors.ts';
import type { Client } from '#runtime/client/client.ts';
import { isConflict, isUncertain } from '#runtime/wire/api-error.ts';
import { conflict, notFound } from '../http/errors.ts';

/** The region of an object that names none. */
const NO_REGION = 'default';
const regionOf = ({ spec }: Pick<KubernetesCluster, 'spec'>): string => spec.cluster.region ?? NO_REGION;

export const keyOf = ({ metadata }: KubernetesCluster): ObjectKey => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
});

/** The path of the cluster. */
export const locationOf = (region: string, { namespace, name }: ObjectKey): string =>
  `/api/v1/region/${encodeURIComponent(region)}/cluster/${name}?namespace=${namespace}`;

/** The cluster of that name in that region. Throws HttpError 404. */
export async function clusterIn(client: Client, region: string, key: ObjectKey): Promise<KubernetesCluster> {
  const cluster = await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, key);
  if (!cluster || regionOf(cluster) !== region) {
    throw notFound(`there is no cluster "${key.name}" in namespace "${key.namespace}", region "${region}"`);
  }
  return cluster;
}

/** The reason why nothing can be asked now: something runs or waits; with `again`, only what runs counts. */
function busyReason(cluster: KubernetesCluster, again: boolean): string | undefined {
  const { metadata, status } = cluster;
  if (metadata.deletionTimestamp) return 'is being deleted';
  const running = status?.operation;
  if (running && running.result === undefined) return `is busy: ${running.word}`;
  const word = metadata.annotations?.[annotations.operation];
  // A dry run waits for nothing: a request for the operation itself replaces it.
  if (again || !operationAsked(word) || isDryRun(cluster)) return undefined;
  // Status tells of an end a moment before the word does.
  const hasEnded =
    running?.word === word && running?.requestId === metadata.annotations?.[annotations.requestId];
  return hasEnded
    ? `is busy: ${word} has ended, and its result is being written; ask again in a moment`
    : `is busy: ${word} was asked and did not start yet`;
}

/** Throws HttpError 409 while something runs or waits. */
export function refuseBusy(cluster: KubernetesCluster, again: boolean): void {
  const reason = busyReason(cluster, again);
  if (reason !== undefined) throw conflict(`cluster "${cluster.metadata.name}" ${reason}`);
}

/** The same as a refusal of a plan. */
export function busyRefusals(cluster: KubernetesCluster, again: boolean): Problem[] {
  const reason = busyReason(cluster, again);
  return reason === undefined ? [] : [{ field: 'name', value: cluster.metadata.name, reason }];
}

/** The annotations of a new request of this person. */
export const requestBy = (person: User): Record<string, string> => ({
  [annotations.requestId]: randomUUID(),
  [annotations.requestedBy]: person.username,
});

/** The changes of a request: the word, and a part of `spec.cluster`. */
export interface Asked {
  word: string;
  person: User;
  change?: Partial<ClusterSpec> | undefined;
  /** Hash of the plan that is agreed to. */
  plan?: string | undefined;
  /** Writes what the request needs beside the object; returns what takes that back if the request is refused. */
  prepare?: (() => Promise<() => Promise<void>>) | undefined;
}

/** Word, new request-id and what it changes of the spec, in one write to this very object. */
export function ask(
  client: Client,
  cluster: KubernetesCluster,
  { word, person, change, plan }: Asked,
  { resourceVersion, dryRun }: { resourceVersion?: string | undefined; dryRun?: boolean } = {},
): Promise<KubernetesCluster> {
  const { uid } = cluster.metadata;
  const patch = {
    metadata: {
      uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      // A REST request for the operation itself ends the dry run that was asked before.
      // A plan that an earlier request named is not this one's.
      annotations: {
        ...requestBy(person),
        [annotations.operation]: word,
        [annotations.dryRun]: null,
        [annotations.plan]: plan ?? null,
      },
    },
    ...(change === undefined ? {} : { spec: { cluster: change } }),
  };
  return client.patch(KUBERNETES_CLUSTERS, keyOf(cluster), patch, { type: 'merge', dryRun });
}

const TRIES = 5;

/**
 * Judges the cluster as it is, then asks; the write fails when the object is no longer the one that was judged, and
 * then it is judged anew: the controller writes status at any moment, which is no reason to refuse.
 */
export async function judgeAndAsk(
  client: Client,
  find: () => Promise<KubernetesCluster>,
  judge: (cluster: KubernetesCluster) => Promise<Asked> | Asked,
): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    const cluster = await find();
    const asked = await judge(cluster);
    try {
      await prepareAndAsk(client, cluster, asked);
      return;
    } catch (error) {
      if (!isConflict(error) || tried >= TRIES) throw error;
    }
  }
}

/** Admission decides on a dry run first, so that a refused request has prepared nothing. */
async function prepareAndAsk(client: Client, cluster: KubernetesCluster, asked: Asked): Promise<void> {
  const { resourceVersion } = cluster.metadata;
  if (asked.prepare) await ask(client, cluster, asked, { resourceVersion, dryRun: true });
  const undo = await asked.prepare?.();
  try {
    await ask(client, cluster, asked, { resourceVersion });
  } catch (error) {
    // A write whose answer was lost may have been accepted: it needs what was prepared.
    if (!isUncertain(error)) await undo?.();
    throw error;
  }
}
