import { appliedOperation, presentSpec, withoutHosts } from '#api/cluster-facts.ts';
import { annotations } from '#api/names.ts';
import { withoutCredentials } from '#operations/spec-hash.ts';
import type { Snapshot } from '../decide/snapshot.ts';
import type { Perform } from './effect.ts';
import { patchMetadata } from './patch-metadata.ts';

/** A larger applied spec would not fit beside other annotations (256 KiB for all). */
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

/** A confirmation is for one restore. */
const NO_RESTORE = { [annotations.snapshot]: null, [annotations.confirmDataLossSince]: null };
/** Whether a retry needs no new confirmation. */
const isRetriable = (operation: Snapshot['operation']): boolean =>
  operation?.name === 'restore' && operation.result === 'failed';

/** Sets the operation annotation to the result and, after a success, the applied spec beside it. */
export const reportResult: Perform<'answer'> = ({ word, applied }, snapshot, deps) => {
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
      // An annotation that was set while the operation ran is the next request; it stays.
      ...(answersOther ? {} : { [annotations.operation]: word }),
      ...(applied && !isOnRecord ? appliedAnnotations(snapshot) : {}),
      ...(answersOther || isRetriable(operation) ? {} : NO_RESTORE),
    },
  });
};
