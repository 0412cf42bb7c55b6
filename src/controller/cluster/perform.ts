import {
  appliedOperation,
  keyOf,
  operationIdOf,
  presentSpec,
  textOf,
  withoutHosts,
} from '#api/cluster-facts.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, finalizerOf } from '#api/names.ts';
import { WORDS } from '#api/words.ts';
import { messageOf } from '#base/errors.ts';
import { withoutCredentials } from '#operations/spec-hash.ts';
import { isForbidden, isNotFound } from '#runtime/wire/api-error.ts';
import { refuseUnagreed } from './decide/approved-plan.ts';
import type { Effect } from './decide/outcome.ts';
import { Refusal } from './decide/refusal.ts';
import type { Snapshot } from './decide/snapshot.ts';
import type { Learned, Perform, Performers } from './performers.ts';
import { startHook, startLook, startRun } from './start-run.ts';
import { pinnedKeysOf } from './state/hosts.ts';
import { keepKnownHosts } from './state/kubeconfigs.ts';
import { removeRecord, writeRecord } from './state/records.ts';

/** A metadata patch that fails with Conflict when anybody has written the object since the snapshot. */
async function patchMetadata(
  { cluster }: Snapshot,
  { client }: Performers,
  metadata: Record<string, unknown>,
): Promise<void> {
  const { resourceVersion } = cluster.metadata;
  const patch = { metadata: { ...metadata, resourceVersion } };
  await client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(cluster), patch, { type: 'merge' });
}

/** The original's clients read the spec that was applied; a larger one would not fit beside what others annotate. */
const MAX_SPEC_ANNOTATION = 64 * 1024;

function appliedAnnotations({ cluster, operation, hosts }: Snapshot): Record<string, string | null> {
  if (!operation) return {};
  const { sequence, spec } = operation;
  const applied = JSON.stringify({ sequence, spec: withoutHosts(withoutCredentials(spec)) });
  const now = {
    ...cluster,
    metadata: { ...cluster.metadata, annotations: { [annotations.applied]: applied } },
  };
  const whole = JSON.stringify(presentSpec(now, hosts) ?? {});
  return {
    [annotations.applied]: applied,
    [annotations.appliedSpec]: whole.length <= MAX_SPEC_ANNOTATION ? whole : null,
  };
}

const performers: { [K in Effect['kind']]: Perform<K> } = {
  bind: (_effect, { clusterId, cluster }, { anchors }) => anchors.bind(clusterId, keyOf(cluster)),
  adopt: (_effect, snapshot, deps) => {
    const { finalizers = [], name = '' } = snapshot.cluster.metadata;
    return patchMetadata(snapshot, deps, {
      annotations: { [annotations.clusterId]: snapshot.clusterId },
      finalizers: [...new Set([...finalizers, finalizerOf(name)])],
    });
  },
  hold: async ({ members }, snapshot, { hosts }, learned) => {
    const { clusterId, cluster } = snapshot;
    for (const { spec } of await hosts.hold(clusterId, textOf(keyOf(cluster)), members)) {
      if (spec.reclaim === undefined) continue;
      refuseUnagreed(snapshot, spec.ip, spec.reclaim);
      learned.reclaims.set(spec.ip, spec.reclaim);
    }
  },
  'hold-again': async ({ members }, { clusterId, cluster }, { hosts }) => {
    for (const member of members) await hosts.holdAgain(clusterId, textOf(keyOf(cluster)), member);
  },
  look: startLook,
  start: startRun,
  hook: startHook,
  discard: async ({ attempts }, _snapshot, { installer }) => {
    for (const attempt of attempts) await installer.remove(attempt);
  },
  record: async ({ result }, { cluster, operation, plan, attempt }, { client, log }) => {
    const report = 'report' in attempt ? attempt.report : undefined;
    if (operation) await writeRecord(client, cluster, operation, { plan, report }, result, log);
  },
  recorded: async (_effect, { cluster, operation }, { client }) => {
    if (!operation) return;
    const status = { ...cluster.status, operation: { ...operation, recorded: true } };
    const written = await client.updateStatus<KubernetesCluster>(KUBERNETES_CLUSTERS, { ...cluster, status });
    if (!written.status?.operation?.recorded)
      throw new Error('the API server drops status.operation.recorded: apply crds/ of this version');
  },
  'keep-kubeconfig': ({ kubeconfig }, { cluster }, { client, kubeconfigs }) =>
    kubeconfigs.keep(client, cluster, kubeconfig),
  'point-kubeconfig': ({ to }, { cluster }, { client, kubeconfigs }) =>
    kubeconfigs.point(client, cluster, to),
  'keep-host-keys': async ({ hosts }, { cluster, hosts: records }, { client, log }) => {
    const shown = hosts.flatMap(({ ip, keys }) => {
      const record = records.find(({ spec }) => spec.ip === ip);
      return record ? [{ spec: record.spec, status: { hostKeys: [...keys] } }] : [];
    });
    // For people: runs take the keys of the records as well, so a namespace that takes no Secret ends nothing.
    await keepKnownHosts(client, cluster, pinnedKeysOf(shown)).catch((error: unknown) => {
      if (!isForbidden(error) && !(error instanceof Refusal)) throw error;
      log.warn({ error: messageOf(error) }, 'the host keys could not be written');
    });
  },
  note: async ({ hosts: noted }, { clusterId }, { hosts, event }) => {
    for (const { ip, status, warning } of noted) {
      await hosts.note(clusterId, ip, status);
      if (warning) event('Warning', warning.reason, warning.message);
    }
  },
  rewrite: async ({ members }, { clusterId }, { hosts }) => {
    for (const member of members) await hosts.rewrite(clusterId, member);
  },
  release: ({ hosts: ips }, { clusterId }, { hosts }) => hosts.release(clusterId, ips),
  prune: async ({ records, upTo }, { cluster, clusterId }, { client, installer }) => {
    await installer.forget(textOf(keyOf(cluster)), upTo);
    for (const { sequence, operations } of records)
      for (const operation of operations)
        await removeRecord(client, cluster, operation, operationIdOf(clusterId, sequence));
  },
  answer: ({ word, applied }, snapshot, deps) => {
    const { request, operation, cluster } = snapshot;
    const answersOther =
      applied &&
      request !== undefined &&
      (request.word !== operation?.word ||
        request.requestId !== operation.requestId ||
        request.specHash !== operation.specHash);
    const isOnRecord = appliedOperation(cluster)?.sequence === operation?.sequence;
    return patchMetadata(snapshot, deps, {
      annotations: {
        // A word that was written while the operation ran is the next request; it stays.
        ...(answersOther ? {} : { [annotations.operation]: word }),
        ...(applied && !isOnRecord ? appliedAnnotations(snapshot) : {}),
      },
    });
  },
  remedy: async ({ change, replaceFrom, requestId, message }, snapshot, deps) => {
    const { cluster, now } = snapshot;
    const { resourceVersion } = cluster.metadata;
    const marked = {
      [annotations.operation]: WORDS.replace.asked,
      [annotations.requestId]: requestId,
      [annotations.requestedBy]: 'remediation',
      // With the edit, in one write: whatever happens next, it is known when this was done.
      [annotations.remediedAt]: now.toISOString(),
    };
    const patch = {
      metadata: { annotations: marked, resourceVersion },
      spec: { cluster: change, policy: { replaceFrom } },
    };
    await deps.client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(cluster), patch, { type: 'merge' });
    deps.event('Warning', 'Remediation', message);
  },
  'raise-sequence': ({ to }, { clusterId }, { anchors }) => anchors.raiseSequence(clusterId, to),
  'delete-object': async (_effect, { cluster }, { client }) => {
    const { uid } = cluster.metadata;
    await client.delete(KUBERNETES_CLUSTERS, keyOf(cluster), { preconditions: { uid } });
  },
  'let-go': async (_effect, snapshot, deps) => {
    const { finalizers = [], name = '' } = snapshot.cluster.metadata;
    const { clusterId, hosts, binding } = snapshot;
    // The cache may be behind, and a cluster that is let go cannot reset its hosts any more.
    if (hosts.length === 0 && binding.kind === 'ours' && (await deps.hosts.holdsAny(clusterId)))
      throw new Error(`cluster-id ${clusterId} holds hosts that the cache does not show yet`);
    try {
      await patchMetadata(snapshot, deps, {
        finalizers: finalizers.filter((text) => text !== finalizerOf(name)),
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    // Should this not be reached: what an object that is gone has left is looked for (vanished.ts).
    if (binding.kind === 'ours') await deps.anchors.drop(clusterId, hosts.length > 0);
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
