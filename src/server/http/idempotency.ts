import type { IncomingHttpHeaders } from 'node:http';
import type { User } from '#access/permissions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { requestedValue } from '#api/operation-values.ts';
import { sha256 } from '#base/canonical.ts';
import { malformed, unprocessable } from './errors.ts';

const HEADER = 'Idempotency-Key';
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Returns the request-id of a request that names a key, so that its repetition has the same one; undefined without a key.
 * Keys of two users are different (draft-ietf-httpapi-idempotency-key-header). Throws HttpError 400.
 */
export function repeatableRequestId(headers: IncomingHttpHeaders, { username }: User): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key)) {
    const reason = 'is not a key; write 1 to 255 printable ASCII characters, such as a UUID';
    throw malformed([{ field: HEADER, value: key, reason }]);
  }
  return sha256(`${username}\n${key}`).slice(0, 32);
}

/** Whether the cluster has had that request. Throws HttpError 422 if it was a request for another operation. */
export function wasAsked({ metadata, status }: KubernetesCluster, requestId: string, word: string): boolean {
  const { [annotations.requestId]: present, [annotations.operation]: presentWord } =
    metadata.annotations ?? {};
  const accepted = [...(status?.requests ?? []), ...(status?.operation ? [status.operation] : [])];
  const asked =
    accepted.find((one) => one.requestId === requestId)?.word ??
    (present === requestId ? requestedValue(presentWord) : undefined);
  if (asked === undefined) return false;
  if (asked === word) return true;
  const reason = `was the key of a request for "${asked}"; use another key for "${word}"`;
  throw unprocessable([{ field: HEADER, reason }]);
}
