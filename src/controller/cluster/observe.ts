import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { specSchema } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations, finalizerOf } from '#api/names.ts';
import { operationAsked } from '#api/words.ts';
import { shortHash } from '#base/canonical.ts';
import type { Clock } from '#base/clock.ts';
import type { Problem } from '#base/errors.ts';
import { remembered } from '#base/remembered.ts';
import type { AttemptRef, AttemptState, Installer } from '#installer/installer.ts';
import { findOperation } from '#operations/index.ts';
import type { Claimed } from '#operations/members.ts';
import type { Offer } from '#operations/resolve.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { validateSpec } from '#operations/validate.ts';
import type { Client } from '#runtime/client.ts';
import type { Kubeconfigs } from './access.ts';
import type { Anchors } from './anchors.ts';
import { jobName } from './attempt-rules.ts';
import { fetchJobName } from './settle.ts';
import { askedWord } from './signal.ts';
import type { Kubeconfig, Request, Snapshot } from './snapshot.ts';

export interface Observers {
  client: Client;
  clock: Clock;
  offer: Offer;
  anchors: Anchors;
  installer: Installer;
  kubeconfigs: Kubeconfigs;
  /** Claims of a cluster, from the cache. */
  claimsOf(clusterId: string): readonly Claimed[];
}

const ABSENT: AttemptState = { kind: 'absent' };

/** Reads everything that a reconcile may look at, once. */
export async function observe(given: KubernetesCluster, deps: Observers): Promise<Snapshot> {
  const { client, clock, anchors, installer, kubeconfigs, offer } = deps;
  const now = clock.now();
  const shape = shapeProblems(given);
  const malformed = shape.length > 0;
  // Nothing after this meets a spec that is none; what is deleted needs none.
  const cluster = malformed ? { ...given, spec: emptyLike(given.spec) } : given;
  const { namespace = '', name = '', uid = '', deletionTimestamp } = cluster.metadata;
  const key: ObjectKey = { namespace, name };
  const carried = cluster.metadata.annotations?.[annotations.clusterId];
  const hasFinalizer = (cluster.metadata.finalizers ?? []).includes(finalizerOf(name));
  const clusterId = carried ?? shortHash(uid, 12);
  const operation = cluster.status?.operation;
  const applied = appliedSpec(cluster);
  const claims = deps.claimsOf(clusterId);
  const descriptor = findOperation(operation?.name);
  const inFlight = operation !== undefined && operation.result === undefined;
  const refOf = (job: string): AttemptRef | undefined =>
    operation && { clusterId, sequence: operation.sequence, attempt: operation.attempt, job };
  const current =
    operation && descriptor && !operation.result ? refOf(jobName(descriptor.prefix, operation)) : undefined;
  const fetching = operation ? refOf(fetchJobName(clusterId, operation.sequence)) : undefined;
  const [binding, attempts, attempt] = await Promise.all([
    anchors.bindingOf(clusterId, key, {
      carriesId: carried !== undefined,
      none: carried === undefined && !hasFinalizer && !cluster.status,
    }),
    installer.list(clusterId),
    current ? installer.observe(current) : ABSENT,
  ]);
  // Nothing is asked of a kubeconfig that nobody has made yet; while an attempt runs, nothing needs it.
  const wantsKubeconfig = current ? attempt.kind === 'succeeded' : (operation ?? applied) !== undefined;
  const kubeconfig: Kubeconfig =
    wantsKubeconfig && !deletionTimestamp ? await kubeconfigs.of(client, cluster, now) : { kind: 'missing' };
  const fetch =
    fetching && attempts.some(({ job }) => job === fetching.job) ? await installer.observe(fetching) : ABSENT;
  return Object.freeze({
    now,
    cluster,
    clusterId,
    binding,
    adopted: carried !== undefined && hasFinalizer,
    claims,
    applied,
    request: requestOf(cluster),
    operation,
    attempt,
    fetch,
    attempts,
    kubeconfig,
    problems: inFlight
      ? problemsOf(cluster)(offer)(operation.spec)
      : malformed
        ? shape
        : problemsOf(cluster)(offer)(cluster.spec),
    malformed,
  });
}

function requestOf(cluster: KubernetesCluster): Request | undefined {
  const marked = cluster.metadata.annotations ?? {};
  const word = askedWord(marked[annotations.operation]);
  if (word === undefined) return undefined;
  const requestId = marked[annotations.requestId] ?? '';
  return { word, requestId, specHash: specHashOf(cluster.spec), operation: operationAsked(word) };
}

const appliedSpec = remembered((cluster: KubernetesCluster): Spec | undefined => {
  const text = cluster.metadata.annotations?.[annotations.appliedSpec];
  if (text === undefined) return undefined;
  try {
    return specSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
});

/** What the CRD let through, or let through once, may still be no spec. */
const shapeProblems = remembered(({ spec }: { spec: unknown }): Problem[] =>
  (specSchema.safeParse(spec).error?.issues ?? []).map(({ path, message }) => ({
    field: ['spec', ...path].join('.'),
    reason: message,
  })),
);

const problemsOf = remembered((cluster: KubernetesCluster) =>
  remembered((offer: Offer) =>
    remembered((spec: Spec) => validateSpec(spec, offer, cluster.status?.version)),
  ),
);

/** A pause is honoured however it is spelt. */
const emptyLike = (spec: unknown): Spec =>
  typeof spec === 'object' && spec !== null && 'paused' in spec && spec.paused
    ? { paused: true, cluster: {} }
    : { cluster: {} };
