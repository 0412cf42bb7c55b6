import type { HostRecord } from '#api/host-record.ts';
import type { Logger } from '#base/log.ts';
import type { Installer } from '#installer/installer.ts';
import type { Client } from '#runtime/client/client.ts';
import type { Effect } from './decide/outcome.ts';
import type { Snapshot } from './decide/snapshot.ts';
import type { Anchors } from './state/cluster-state.ts';
import type { Hosts } from './state/hosts.ts';
import type { Kubeconfigs } from './state/kubeconfigs.ts';

export interface Performers {
  client: Client;
  anchors: Anchors;
  hosts: Hosts;
  installer: Installer;
  kubeconfigs: Kubeconfigs;
  log: Logger;
  /** Host records of all clusters, from the cache. */
  records(): readonly HostRecord[];
  /** Tells people what happened to the cluster. */
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/** What effects of one reconcile learn for those that follow. */
export interface Learned {
  /** Ids of clusters whose remains may be wiped, by address: found when a host was taken. */
  reclaims: Map<string, string>;
}

export type Perform<K extends Effect['kind']> = (
  effect: Extract<Effect, { kind: K }>,
  snapshot: Snapshot,
  deps: Performers,
  learned: Learned,
) => Promise<void>;
