import { canonicalJson } from '#base/canonical.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import type { Client } from '#runtime/client/client.ts';
import { ABANDON, NETWORK_FINALIZER, NETWORKS, type Network } from '../api.ts';
import { bridgeNameOf } from '../bridges/bridge-name.ts';
import type { PlannedHost } from './round.ts';

/** Returns the parts of a Network on which its controller acts. */
export const asks = ({ metadata, spec }: Network): string =>
  canonicalJson([spec, metadata.deletionTimestamp, metadata.annotations?.[ABANDON]]);

/** Whether it is being deleted and its finalizer is gone. */
export const isLetGo = ({ metadata }: Network): boolean =>
  metadata.deletionTimestamp !== undefined && !metadata.finalizers?.includes(NETWORK_FINALIZER);

/** Whether the API server still has the object with this uid. */
export const isThere = async (client: Client, network: Network): Promise<boolean> =>
  (await client.find<Network>(NETWORKS, keyOf(network)))?.metadata.uid === network.metadata.uid;

/** Adds the finalizer and records these hosts: from then on status keeps them until they are clean. */
export async function taken(
  client: Client,
  network: Network,
  hosts: readonly PlannedHost[],
): Promise<Network> {
  const { finalizers = [], resourceVersion, deletionTimestamp } = network.metadata;
  const isBound = finalizers.includes(NETWORK_FINALIZER);
  const metadata = { resourceVersion, finalizers: [...finalizers, NETWORK_FINALIZER] };
  const bound =
    isBound || deletionTimestamp
      ? network
      : await client.patch<Network>(NETWORKS, keyOf(network), { metadata }, { type: 'merge' });
  const records = hosts.map(({ record }) => record);
  if (canonicalJson(records) === canonicalJson(bound.status?.hosts ?? [])) return bound;
  return client.updateStatus<Network>(NETWORKS, { ...bound, status: { ...bound.status, hosts: records } });
}

/** Removes the finalizer, because nothing of the Network is left. */
export async function letGo(client: Client, network: Network): Promise<void> {
  const { finalizers = [], resourceVersion } = network.metadata;
  const others = finalizers.filter((one) => one !== NETWORK_FINALIZER);
  const metadata = { resourceVersion, finalizers: others };
  await client.patch(NETWORKS, keyOf(network), { metadata }, { type: 'merge' });
}

/**
 * Returns a function that decides whether a bridge belongs to no Network. The cache may be stale, so it asks the API server
 * before a bridge is removed.
 */
export function goneBridges(client: Client, networks: Informer<Network>): (name: string) => Promise<boolean> {
  const has = (list: readonly Network[], name: string) =>
    list.some(({ metadata: { uid = '' } }) => bridgeNameOf(uid) === name);
  return async (name) =>
    !has(networks.list(), name) && !has((await client.list<Network>(NETWORKS)).items, name);
}
