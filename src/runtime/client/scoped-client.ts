import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { isNotFound } from '../wire/api-error.ts';
import type { ApiRequest, Caller } from '../wire/call.ts';
import { type Client, clientOver } from './client.ts';
import { isKubeObject } from './expect-object.ts';

/** Thrown instead of a write without leadership. */
export class NotLeading extends Error {
  override name = 'NotLeading';
}

/** Limits and hooks of a client; a `ReconcileContext` is a scope. */
export interface Scope {
  /** Signal of every call that has no other signal. */
  signal?: AbortSignal | undefined;
  /** Gets every written object from the server's answer: `ReconcileContext.wrote`. */
  wrote?: ((object: KubeObject) => void) | undefined;
  /** Gets every object that a delete removed at once, or found gone: `ReconcileContext.deleted`. */
  deleted?: ((resource: Resource, key: ObjectKey, uid: string) => void) | undefined;
  /** Returns the uid under which a cache shows an object: `ReconcileContext.shown`. */
  shown?: ((resource: Resource, key: ObjectKey) => string | undefined) | undefined;
  /** Decides before every write and every repetition of a write: `Election.isLeading`. */
  mayWrite?: (() => boolean) | undefined;
  /** Value of every call that sets none: `CallOptions.maxRetryWaitMs`. */
  maxRetryWaitMs?: number | undefined;
}

/**
 * Returns the client within a scope, so that no caller can forget the signal, the hold or the leadership check. Scopes nest:
 * a guarded client may be scoped again for each reconcile.
 * @example
 * const guarded = scopedClient(client, { mayWrite: election.isLeading });
 * const scoped = scopedClient(guarded, context);
 */
export function scopedClient(client: Client, scope: Scope): Client {
  const { signal, wrote, deleted, shown, mayWrite, maxRetryWaitMs } = scope;
  const inner = client.caller;
  const within = (request: ApiRequest): ApiRequest => ({
    ...request,
    signal: request.signal ?? signal,
    maxRetryWaitMs: request.maxRetryWaitMs ?? maxRetryWaitMs,
  });
  const caller: Caller = {
    async call(request) {
      if (request.method === 'GET') return inner.call(within(request));
      const guard = () => {
        request.guard?.();
        if (mayWrite && !mayWrite()) throw new NotLeading(`${request.method} ${request.path}: not leading`);
      };
      guard();
      const answer = await inner.call({ ...within(request), guard });
      if (wrote && !isDry(request) && isKubeObject(answer) && answer.metadata.resourceVersion) wrote(answer);
      return answer;
    },
    stream: (request) => inner.stream(within(request)),
    close: () => inner.close(),
  };
  const scoped = clientOver(caller);
  return {
    ...scoped,
    async delete(resource, key, options) {
      // The uid is read before the call: only an object that the cache showed by then is waited for.
      const before = deleted && shown?.(resource, key);
      const deletion = await scoped.delete(resource, key, options).catch((error: unknown) => {
        if (before !== undefined && isNotFound(error)) deleted?.(resource, key, before);
        throw error;
      });
      if (deletion.uid !== undefined && !deletion.object && !options?.dryRun)
        deleted?.(resource, key, deletion.uid);
      return deletion;
    },
  };
}

/** Whether a request is a dry run. A delete has the flag in its body, other requests in their query. */
function isDry({ query, body }: ApiRequest): boolean {
  if (query?.['dryRun'] !== undefined) return true;
  return typeof body === 'object' && body !== null && 'dryRun' in body && 'kind' in body
    ? body.kind === 'DeleteOptions'
    : false;
}
