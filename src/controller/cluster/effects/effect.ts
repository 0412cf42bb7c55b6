import type { HostRecord } from '#api/host-record.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import type { Logger } from '#base/log.ts';
import type { Installer } from '#installer/installer.ts';
import type { SnapshotAccess, SnapshotTask } from '#protocol/snapshot.ts';
import type { Client } from '#runtime/client/client.ts';
import type { Span } from '#tracing/span.ts';
import type { Effect } from '../decide/outcome.ts';
import type { Snapshot } from '../decide/snapshot.ts';
import type { ClusterStates } from '../state/cluster-state.ts';
import type { Hosts } from '../state/hosts.ts';
import type { MetaNode } from '../state/known-machines.ts';
import type { Kubeconfigs } from '../state/kubeconfigs.ts';

export interface EffectDeps {
  client: Client;
  clusterStates: ClusterStates;
  hosts: Hosts;
  installer: Installer;
  kubeconfigs: Kubeconfigs;
  log: Logger;
  /** Returns the Host records of all clusters, from the cache. */
  records(): readonly HostRecord[];
  /** Returns the nodes of the meta cluster. */
  metaNodes(): Promise<readonly MetaNode[]>;
  /** Returns key and storage of the cluster's snapshots. Throws a Refusal if there are none. */
  snapshotAccess(wanted: { spec: Spec; task: SnapshotTask['task'] }): Promise<SnapshotAccess>;
  /** Takes a span of each operation that has ended; absent: no traces. */
  addSpan?: ((span: Span) => void) | undefined;
  /** Emits an Event of the cluster. */
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/** Facts that one effect hands to later effects of the same reconcile. */
export interface Learned {
  /** By address: the id of the cluster whose remains may be wiped there. */
  reclaims: Map<string, string>;
}

export type Perform<K extends Effect['kind']> = (
  effect: Extract<Effect, { kind: K }>,
  snapshot: Snapshot,
  deps: EffectDeps,
  learned: Learned,
) => Promise<void>;
