import { canonicalJson } from '#base/canonical.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import type { Client } from '#runtime/client/client.ts';
import { ABANDON, NETWORK_FINALIZER, NETWORKS, type Network } from '../api.ts';
import { bridgeNameOf } from '../bridges/bridge-name.ts';
import type { PlannedHost } from './round.ts';

/** What of a Network its controller acts upon. */
export const asks = ({ metadata, spec }: Network): string =>
  canonicalJson([spec, metadata.deletionTimestamp, metadata.annotations?.[ABANDON]]);

/** Whether it goes, and nothing of it is left to be undone. */
export const isLetGo = ({ metadata }: Network): boolean =>
  metadata.deletionTimestamp !== undefined && !metadata.finalizers?.includes(NETWORK_FINALIZER);

/** Whether the server still has this very object. */
export const isThere = async (client: Client, network: Network): Promise<boolean> =>
  (await client.find<Network>(NETWORKS, keyOf(network)))?.metadata.uid === network.metadata.uid;

/** The Network bound to its finalizer, with these hosts on record: from then on they are remembered until they are clean. */
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

/** Gives up the finalizer: nothing of it is left anywhere. */
export async function letGo(client: Client, network: Network): Promise<void> {
  const { finalizers = [], resourceVersion } = network.metadata;
  const others = finalizers.filter((one) => one !== NETWORK_FINALIZER);
  const metadata = { resourceVersion, finalizers: others };
  await client.patch(NETWORKS, keyOf(network), { metadata }, { type: 'merge' });
}

/** Whether a bridge is of no Network any more; the cache may be late, so the server is asked before one is removed. */
export function goneBridges(client: Client, networks: Informer<Network>): (name: string) => Promise<boolean> {
  const has = (list: readonly Network[], name: string) =>
    list.some(({ metadata: { uid = '' } }) => bridgeNameOf(uid) === name);
  return async (name) =>
    !has(networks.list(), name) && !has((await client.list<Network>(NETWORKS)).items, name);
}
