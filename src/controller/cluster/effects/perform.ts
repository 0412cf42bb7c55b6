/** Performs the effects that rules return. Each effect is idempotent and uses deterministic names. */

import { keyOf } from '#api/cluster-facts.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import type { Effect } from '../decide/outcome.ts';
import type { Snapshot } from '../decide/snapshot.ts';
import { setRecorded } from '../status.ts';
import { adopt } from './adopt.ts';
import { askUpkeep } from './ask-upkeep.ts';
import type { EffectDeps, Learned, Perform } from './effect.ts';
import { holdAgain, holdHosts } from './hold-hosts.ts';
import { keepHostKeys } from './keep-host-keys.ts';
import { pruneHistory, recordOperation } from './record-operation.ts';
import { releaseObject } from './release-object.ts';
import { remediate } from './remediate.ts';
import { reportResult } from './report-result.ts';
import { startHook, startHostCheck, startRun } from './start-run.ts';
import { noteHosts, rewriteHosts } from './update-host-records.ts';

const effects: { [K in Effect['kind']]: Perform<K> } = {
  bind: (_effect, { clusterId, cluster }, { clusterStates }) => clusterStates.bind(clusterId, keyOf(cluster)),
  adopt,
  hold: holdHosts,
  'hold-again': holdAgain,
  'check-hosts': startHostCheck,
  start: startRun,
  hook: startHook,
  discard: async ({ attempts }, _snapshot, { installer }) => {
    for (const attempt of attempts) await installer.remove(attempt);
  },
  record: recordOperation,
  recorded: (_effect, { cluster, operation }, { client }) => setRecorded(client, cluster, operation),
  'keep-kubeconfig': ({ kubeconfig }, { cluster }, { client, kubeconfigs }) =>
    kubeconfigs.keep(client, cluster, kubeconfig),
  'point-kubeconfig': ({ to }, { cluster }, { client, kubeconfigs }) =>
    kubeconfigs.point(client, cluster, to),
  'keep-host-keys': keepHostKeys,
  note: noteHosts,
  rewrite: rewriteHosts,
  release: ({ hosts: ips }, { clusterId }, { hosts }) => hosts.release(clusterId, ips),
  prune: pruneHistory,
  answer: reportResult,
  remediate,
  'ask-upkeep': askUpkeep,
  'raise-sequence': ({ to }, { clusterId }, { clusterStates }) => clusterStates.raiseSequence(clusterId, to),
  'delete-object': async (_effect, { cluster }, { client }) => {
    const { uid } = cluster.metadata;
    await client.delete(KUBERNETES_CLUSTERS, keyOf(cluster), { preconditions: { uid } });
  },
  'let-go': releaseObject,
};

/** Runs the effects in order; the first that throws stops the rest, and a repeat starts over. */
export async function perform(
  wanted: readonly Effect[],
  snapshot: Snapshot,
  deps: EffectDeps,
): Promise<void> {
  const learned: Learned = { reclaims: new Map() };
  for (const effect of wanted) await performOne(effect, snapshot, deps, learned);
}

function performOne<K extends Effect['kind']>(
  effect: Extract<Effect, { kind: K }> & { kind: K },
  snapshot: Snapshot,
  deps: EffectDeps,
  learned: Learned,
): Promise<void> {
  return effects[effect.kind](effect, snapshot, deps, learned);
}
