import { acceptedAs, appliedOperation } from '#api/cluster-facts.ts';
import type { RequestRecord } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import type { Snapshot } from './snapshot.ts';

/** Requests that were carried out before, as status remembers them. */

/**
 * Whether the second write of the operation's end was done. An operation annotation that a user set meanwhile stays. The
 * applied spec, or the reason why it was not applied, must be on record in any case.
 */
export function isAnswered({
  operation,
  cluster,
  request,
}: Pick<Snapshot, 'operation' | 'cluster' | 'request'>): boolean {
  if (!operation?.result || (operation.name === 'delete' && operation.result === 'finished')) return false;
  const onRecord =
    operation.result === 'finished'
      ? appliedOperation(cluster)?.sequence === operation.sequence
      : operation.recorded === true;
  if (request) {
    const same = request.word === operation.word && request.requestId === operation.requestId;
    return onRecord && !(same && request.specHash === operation.specHash);
  }
  return (
    onRecord &&
    cluster.metadata.annotations?.[annotations.operation] ===
      OPERATION_VALUES[operation.name][operation.result]
  );
}

const isSnapshot = ({ word }: RequestRecord): boolean => word === OPERATION_VALUES.snapshot.asked;

/**
 * Whether an operation with this spec began since the last one that succeeded, or was that one. A host that was removed
 * since may be added again; a worker that failed to join is not tried for ever. A snapshot applies nothing of the spec.
 */
export function wasTried({ cluster }: Snapshot): boolean {
  const hash = specHashOf(cluster.spec);
  const requests = cluster.status?.requests ?? [];
  const others = requests.filter((request) => !isSnapshot(request));
  const applied = appliedOperation(cluster)?.sequence ?? 0;
  const since = requests.some((request) => isSnapshot(request) && request.sequence === applied)
    ? Math.max(0, ...others.filter(({ result }) => result === 'finished').map(({ sequence }) => sequence))
    : applied;
  return others.some(({ specHash, sequence }) => specHash === hash && sequence >= since);
}

/** Returns the id of a request to delete: a retried deletion changes it, whatever the operation annotation says. */
export const deletionRequestId = (cluster: Snapshot['cluster']): string =>
  cluster.metadata.annotations?.[annotations.requestId] ?? '';

export const isNewDeletion = ({ cluster }: Snapshot): boolean =>
  !cluster.status?.requests?.some(
    ({ word, requestId }) =>
      word === OPERATION_VALUES.delete.asked && requestId === deletionRequestId(cluster),
  );

export const isNew = ({ request, cluster }: Snapshot): boolean =>
  request !== undefined && acceptedAs(cluster, request) === undefined;
