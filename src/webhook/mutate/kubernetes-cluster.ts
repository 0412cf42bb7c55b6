import { z } from 'zod';
import { annotations } from '#api/names.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { JsonPatch, Mutation } from '../admission.ts';

const clusterSchema = z.looseObject({
  metadata: z.looseObject({ annotations: z.record(z.string(), z.string()).optional() }),
  spec: z.unknown().optional(),
});
type Cluster = z.infer<typeof clusterSchema>;

const annotationOf = (cluster: Cluster | undefined, name: string): string | undefined =>
  cluster?.metadata.annotations?.[name];

const specSchema = z.looseObject({ paused: z.unknown().optional() });

/** Returns the spec without `paused`: pausing requests no operation. */
const requestedSpec = ({ spec }: Cluster): unknown => {
  const { paused: _paused, ...rest } = specSchema.safeParse(spec).data ?? { paused: undefined, spec };
  return rest;
};
const isPaused = (cluster: Cluster | undefined): boolean =>
  specSchema.safeParse(cluster?.spec).data?.paused === true;

/** Returns everything that makes up a request: a user who changes any of it is its requester. */
const requestIn = (cluster: Cluster): string =>
  canonicalJson([
    annotationOf(cluster, annotations.operation),
    annotationOf(cluster, annotations.requestId),
    annotationOf(cluster, annotations.dryRun),
    annotationOf(cluster, annotations.plan),
    annotationOf(cluster, annotations.snapshot),
    annotationOf(cluster, annotations.confirmDataLossSince),
    requestedSpec(cluster),
  ]);
const cancelIn = (cluster: Cluster | undefined): string => annotationOf(cluster, annotations.cancel) ?? '';

/** Annotations that name the user of an action, and whether a write performs the action. */
const NAMED: Readonly<Record<string, (old: Cluster | undefined, next: Cluster) => boolean>> = {
  [annotations.requestedBy]: (old, next) => !old || requestIn(old) !== requestIn(next),
  [annotations.pausedBy]: (old, next) => isPaused(old) !== isPaused(next),
  // Only the REST server records who deletes.
  [annotations.deletedBy]: () => false,
  [annotations.cancelledBy]: (old, next) => cancelIn(next) !== '' && cancelIn(old) !== cancelIn(next),
};

/**
 * Records who requested, paused and cancelled: the user whose write changes operation annotation, request-id, dry-run, plan
 * or spec; `spec.paused`; or the id that is cancelled. The REST server writes in its callers' names, so its values stay.
 */
export const kubernetesClusterMutation: Mutation = ({ object, oldObject, userInfo }, { serverUser }) => {
  const next = clusterSchema.safeParse(object).data;
  const old = clusterSchema.safeParse(oldObject).data;
  if (!next || userInfo.username === serverUser) return [];
  const patch = Object.entries(NAMED).flatMap(([name, isDone]): JsonPatch => {
    const wanted = isDone(old, next) ? userInfo.username : annotationOf(old, name);
    return wanted === annotationOf(next, name) ? [] : patchTo(name, wanted);
  });
  // The patch adds annotations to an existing map.
  return patch.length === 0 || next.metadata.annotations
    ? patch
    : [{ op: 'add', path: '/metadata/annotations', value: {} }, ...patch];
};

function patchTo(name: string, value: string | undefined): JsonPatch {
  const path = `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return [value === undefined ? { op: 'remove', path } : { op: 'add', path, value }];
}
