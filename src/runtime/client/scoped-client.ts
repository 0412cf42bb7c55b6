import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { isNotFound } from '../wire/api-error.ts';
import type { ApiRequest, Caller } from '../wire/call.ts';
import { type Client, clientOver } from './client.ts';
import { isKubeObject } from './expect-object.ts';

/** Thrown instead of making a write without leadership. */
export class NotLeading extends Error {
  override name = 'NotLeading';
}

/** A `ReconcileContext` is one. */
export interface Scope {
  /** For every call that brings no signal of its own. */
  signal?: AbortSignal | undefined;
  /** Told of every object written, as the server answered it: `ReconcileContext.wrote`. */
  wrote?: ((object: KubeObject) => void) | undefined;
  /** Told of every object that a delete left nothing of, or found gone: `ReconcileContext.deleted`. */
  deleted?: ((resource: Resource, key: ObjectKey, uid: string) => void) | undefined;
  /** The uid under which a cache shows an object: `ReconcileContext.shown`. */
  shown?: ((resource: Resource, key: ObjectKey) => string | undefined) | undefined;
  /** Asked before every write, each repetition of one included: `Election.isLeading`. */
  mayWrite?: (() => boolean) | undefined;
  /** For every call that brings none of its own: `CallOptions.maxRetryWaitMs`. */
  maxRetryWaitMs?: number | undefined;
}

/**
 * The client within a scope, so that nobody can forget the signal, the hold or the question whether we lead.
 * Scopes nest: a guarded client may be scoped again for each reconcile.
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
      // What a cache still shows after the server has said that it is gone, it showed before.
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

/** A delete says so in its body, the others in their query. */
function isDry({ query, body }: ApiRequest): boolean {
  if (query?.['dryRun'] !== undefined) return true;
  return typeof body === 'object' && body !== null && 'dryRun' in body && 'kind' in body
    ? body.kind === 'DeleteOptions'
    : false;
}
