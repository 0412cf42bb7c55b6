import type { KubeObject } from '#api/meta.ts';
import type { ApiRequest, Caller } from './call.ts';
import { type Client, clientOver } from './client.ts';
import { isKubeObject } from './expect-object.ts';

/** Thrown instead of making a write without leadership. */
export class NotLeading extends Error {
  override name = 'NotLeading';
}

export interface Scope {
  /** For every call that brings no signal of its own. */
  signal?: AbortSignal | undefined;
  /** Told of every object written, as the server answered it: `ReconcileContext.wrote`. */
  wrote?: ((object: KubeObject) => void) | undefined;
  /** Asked before every write: `Election.isLeading`. */
  mayWrite?: (() => boolean) | undefined;
}

/**
 * The client within a scope, so that nobody can forget the signal, the hold or the question whether we lead.
 * @example
 * const scoped = scopedClient(client, { signal, wrote, mayWrite: election.isLeading });
 */
export function scopedClient(client: Client, { signal, wrote, mayWrite }: Scope): Client {
  const inner = client.caller;
  const within = (request: ApiRequest): ApiRequest => ({ ...request, signal: request.signal ?? signal });
  const caller: Caller = {
    async call(request) {
      if (request.method === 'GET') return inner.call(within(request));
      if (mayWrite && !mayWrite()) throw new NotLeading(`${request.method} ${request.path}: not leading`);
      const answer = await inner.call(within(request));
      const dry = request.query?.['dryRun'] !== undefined;
      if (wrote && !dry && isKubeObject(answer) && answer.metadata.resourceVersion) wrote(answer);
      return answer;
    },
    stream: (request) => inner.stream(within(request)),
    close: () => inner.close(),
  };
  return clientOver(caller);
}
