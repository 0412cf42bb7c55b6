import { z } from 'zod';
import { annotations } from '#api/names.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { JsonPatch, Mutation } from '../admission.ts';

const clusterSchema = z.looseObject({
  metadata: z.looseObject({ annotations: z.record(z.string(), z.string()).optional() }),
  spec: z.unknown(),
});
type Cluster = z.infer<typeof clusterSchema>;

/** Everything that makes a request: who changes one of these has asked. */
const requestOf = ({ metadata, spec }: Cluster): string => {
  const {
    [annotations.operation]: word,
    [annotations.requestId]: requestId,
    [annotations.dryRun]: dryRun,
  } = metadata.annotations ?? {};
  return canonicalJson([word, requestId, dryRun, spec]);
};

const namedBy = (cluster: Cluster | undefined): string | undefined =>
  cluster?.metadata.annotations?.[annotations.requestedBy];

/**
 * Writes who asked: the user of whatever request changes word, request-id, dry-run or spec, and nobody else. The REST server
 * asks in its callers' names, so what it writes stays.
 */
export const kubernetesClusterMutation: Mutation = ({ object, oldObject, userInfo }, { serverUser }) => {
  const next = clusterSchema.safeParse(object).data;
  const old = clusterSchema.safeParse(oldObject).data;
  if (!next || userInfo.username === serverUser) return [];
  const asks = !old || requestOf(old) !== requestOf(next);
  const wanted = asks ? userInfo.username : namedBy(old);
  if (wanted === namedBy(next)) return [];
  return patchTo(next, wanted);
};

function patchTo({ metadata }: Cluster, value: string | undefined): JsonPatch {
  const name = annotations.requestedBy;
  const path = `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  if (value === undefined) return [{ op: 'remove', path }];
  return metadata.annotations
    ? [{ op: 'add', path, value }]
    : [{ op: 'add', path: '/metadata/annotations', value: { [name]: value } }];
}
