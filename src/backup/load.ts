import { CONFIG_MAPS, SECRETS } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists } from '#runtime/wire/api-error.ts';
import type { Backup, SavedObject } from './backup-file.ts';

const NAMESPACES: Resource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};

export interface Loaded {
  /** Clusters that were created, `namespace/name`, each paused; with whether they were paused before. */
  clusters: { namespace: string; name: string; wasPaused: boolean }[];
  /** Clusters that were being deleted: their deletion is requested anew. */
  deleting: string[];
}

const textOf = ({ metadata: { namespace, name } }: SavedObject): string => `${namespace}/${name}`;
const idOf = ({ metadata }: { metadata: SavedObject['metadata'] }): string | undefined =>
  metadata.annotations?.[annotations.clusterId];

/**
 * Creates the objects of a backup in an installation whose controller does not run. Each cluster is paused. What is there
 * already from an earlier try stays. Rejects before it writes anything if another cluster has one of the names.
 */
export async function load(client: Client, backup: Backup, operatorNamespace: string): Promise<Loaded> {
  await refuseOthers(client, backup);
  for (const name of new Set(backup.clusters.map(({ metadata }) => metadata.namespace)))
    await unlessThere(client.create(NAMESPACES, { metadata: { name } }));
  // A cluster without its state would count as a copy, so the state comes first.
  const inOperator = (object: SavedObject) => ({
    ...object,
    metadata: { ...object.metadata, namespace: operatorNamespace },
  });
  for (const state of backup.states.map(inOperator)) await create(client, SECRETS, state);
  for (const host of backup.hosts.map(inOperator)) await create(client, HOSTS, host);
  const loaded: Loaded = { clusters: [], deleting: [] };
  /** New uids of clusters, by the old one. */
  const uids = new Map<string, string>();
  for (const cluster of backup.clusters) {
    const { namespace, name, uid, deletionTimestamp } = cluster.metadata;
    const spec = isMap(cluster['spec']) ? cluster['spec'] : {};
    const made = await create(client, KUBERNETES_CLUSTERS, { ...cluster, spec: { ...spec, paused: true } });
    if (uid !== undefined && made.metadata.uid !== undefined) uids.set(uid, made.metadata.uid);
    if (deletionTimestamp !== undefined) loaded.deleting.push(textOf(cluster));
    loaded.clusters.push({ namespace, name, wasPaused: spec['paused'] === true });
  }
  const owned = (object: SavedObject): SavedObject => {
    const { ownerReferences = [], ...metadata } = object.metadata;
    // An owner that is not in the backup does not exist here, and its object would be removed.
    const owners = ownerReferences.flatMap((owner) => {
      const now = uids.get(owner.uid);
      return now === undefined ? [] : [{ ...owner, uid: now }];
    });
    return {
      ...object,
      metadata: { ...metadata, ...(owners.length > 0 ? { ownerReferences: owners } : {}) },
    };
  };
  for (const secret of backup.secrets.map(owned)) await create(client, SECRETS, secret);
  for (const configMap of backup.configMaps.map(owned)) await create(client, CONFIG_MAPS, configMap);
  return loaded;
}

/** Refuses to load beside clusters that are there and are not those of the backup. */
async function refuseOthers(client: Client, { clusters }: Backup): Promise<void> {
  for (const cluster of clusters) {
    const { namespace, name } = cluster.metadata;
    const there = await client.find<KubeObject>(KUBERNETES_CLUSTERS, { namespace, name });
    if (there && there.metadata.annotations?.[annotations.clusterId] !== idOf(cluster))
      throw new Error(
        `cluster ${namespace}/${name} is there, and is another one than that of the backup; nothing was written`,
      );
  }
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether nothing has written a status since the creation: the schema of Host records sets one field. */
const isNew = ({ status }: WithStatus): boolean => !isMap(status) || Object.keys(status).length <= 1;

interface WithStatus extends KubeObject {
  status?: unknown;
}

/** Creates an object, then its status; one that is there stays as it is. */
async function create(client: Client, resource: Resource, object: SavedObject): Promise<KubeObject> {
  const { namespace, name, labels, annotations: given, finalizers, ownerReferences } = object.metadata;
  const metadata = {
    namespace,
    name,
    ...(labels ? { labels } : {}),
    ...(given ? { annotations: given } : {}),
    ...(finalizers ? { finalizers } : {}),
    ...(ownerReferences ? { ownerReferences } : {}),
  };
  const { status, ...rest } = object;
  const key = { namespace, name };
  const made =
    (await unlessThere(client.create<WithStatus>(resource, { ...rest, metadata }))) ??
    (await client.get<WithStatus>(resource, key));
  // An earlier try may have ended between the two writes.
  if (status !== undefined && isNew(made))
    await client.patch(resource, key, { status }, { type: 'merge', subresource: 'status' });
  return made;
}

async function unlessThere<T>(creation: Promise<T>): Promise<T | undefined> {
  try {
    return await creation;
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    throw error;
  }
}
