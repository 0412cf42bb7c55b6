/** Saves the objects of an installation into an encrypted file, and loads them into a new meta cluster. */

import { CONFIG_MAPS, type ConfigMap, SECRETS, type Secret } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import {
  credentialsSecretName,
  knownHostsSecretName,
  kubeconfigSecretName,
  labels,
  snapshotsSecretName,
} from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';
import type { BackupContent } from './backup-file.ts';

/** Reads everything that the operator needs to continue with its clusters, and what their users keep beside them. */
export async function collect(client: Client, operatorNamespace: string, now: Date): Promise<BackupContent> {
  const { items: clusters } = await client.list<KubernetesCluster>(KUBERNETES_CLUSTERS);
  const inOperator = { namespace: operatorNamespace };
  // The states come last: what a later operation took is then in them, and no earlier state overrules a host.
  const { items: hosts } = await client.list<HostRecord>(HOSTS, inOperator);
  const beside = await Promise.all(clusters.map((cluster) => besideCluster(client, cluster)));
  const { items: states } = await client.list<Secret>(SECRETS, {
    ...inOperator,
    labelSelector: `${labels.purpose} in (anchor,tombstone)`,
  });
  return {
    format: 1,
    createdAt: now.toISOString(),
    operatorNamespace,
    clusters: clusters.map(kept),
    hosts: hosts.map(kept),
    states: states.map(kept),
    secrets: beside.flatMap(({ secrets }) => secrets).map(kept),
    configMaps: beside.flatMap(({ configMaps }) => configMaps).map(kept),
  };
}

/** Returns the object without what belongs to its server. */
function kept<T extends KubeObject>({ metadata, ...object }: T) {
  const { managedFields: _fields, resourceVersion: _version, generation: _generation, ...rest } = metadata;
  return { ...object, metadata: rest };
}

async function besideCluster(client: Client, cluster: KubernetesCluster) {
  const { namespace = '', name = '' } = cluster.metadata;
  const { spec } = cluster;
  const secrets = [
    spec.cluster.credentialsSecret ?? credentialsSecretName(name),
    knownHostsSecretName(name),
    kubeconfigSecretName(name),
    spec.etcdSnapshots?.secret ?? snapshotsSecretName(name),
  ];
  const files = [...(spec.addons?.manifests ?? []), ...Object.values(spec.hooks ?? {}).flat()];
  const configMaps = files.flatMap((file) => (file ? [file.configMap] : []));
  const { items: records } = await client.list<ConfigMap>(CONFIG_MAPS, {
    namespace,
    labelSelector: `${labels.purpose}=record`,
  });
  const ours = records.filter(({ metadata }) =>
    metadata.ownerReferences?.some((owner) => owner.name === name),
  );
  return {
    secrets: await found<Secret>(client, SECRETS, namespace, secrets),
    configMaps: [...(await found<ConfigMap>(client, CONFIG_MAPS, namespace, configMaps)), ...ours],
  };
}

/** Returns the objects of these names that exist, each once. */
async function found<T extends KubeObject>(
  client: Client,
  resource: Resource,
  namespace: string,
  names: readonly string[],
): Promise<T[]> {
  const keys = [...new Set(names)].map((name): ObjectKey => ({ namespace, name }));
  const all = await Promise.all(keys.map((key) => client.find<T>(resource, key)));
  return all.filter((one) => one !== undefined);
}
