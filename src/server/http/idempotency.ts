import type { IncomingHttpHeaders } from 'node:http';
import type { User } from '#access/permissions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { requestedValue } from '#api/operation-values.ts';
import { canonicalJson, sha256 } from '#base/canonical.ts';
import { malformed, unprocessable } from './errors.ts';

const HEADER = 'Idempotency-Key';
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Hexadecimal digits of a request-id: the first ones say whose key it is, the others with which body it came. */
const KEY_DIGITS = 20;
const BODY_DIGITS = 12;

/**
 * Returns the request-id of a request that names a key, so that its repetition has the same one; undefined without a key.
 * Keys of two users are different (draft-ietf-httpapi-idempotency-key-header). Throws HttpError 400.
 */
export function repeatableRequestId(
  headers: IncomingHttpHeaders,
  { username }: User,
  body: object,
): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key)) {
    const reason = 'is not a key; write 1 to 255 printable ASCII characters, such as a UUID';
    throw malformed([{ field: HEADER, value: key, reason }]);
  }
  // Request-ids are public, so nothing of a secret is in them.
  const content = canonicalJson({ ...body, privateSSHKey: undefined });
  return `${sha256(`${username}\n${key}`).slice(0, KEY_DIGITS)}${sha256(content).slice(0, BODY_DIGITS)}`;
}

/** Whether the cluster has had that request. Throws HttpError 422 if the key was that of another request. */
export function wasAsked({ metadata, status }: KubernetesCluster, requestId: string, word: string): boolean {
  const present = {
    requestId: metadata.annotations?.[annotations.requestId],
    word: requestedValue(metadata.annotations?.[annotations.operation]),
  };
  const accepted = [...(status?.requests ?? []), ...(status?.operation ? [status.operation] : []), present];
  const found = accepted.find(
    (one) => one.word !== undefined && one.requestId?.startsWith(requestId.slice(0, KEY_DIGITS)),
  );
  if (!found) return false;
  if (found.word === word && found.requestId === requestId) return true;
  const other =
    found.word === word
      ? 'with another body; use another key'
      : `for "${found.word}"; use another key for "${word}"`;
  throw unprocessable([{ field: HEADER, reason: `was the key of a request ${other}` }]);
}
