import { Readable } from 'node:stream';
import type { KubeObject } from '#api/meta.ts';
import type { ApiRequest, Caller } from '../wire/call.ts';

/** Exchange that a test answers itself. */
export interface Exchange {
  request: ApiRequest;
  answer(value: unknown): void;
  fail(error: unknown): void;
  /** Opens the answer of a stream. */
  open(): OpenStream;
}

export interface OpenStream {
  send(type: string, object: unknown): void;
  end(): void;
  break(message: string): void;
}

/** Creates a caller for tests: each exchange waits until the test answers it. It retries nothing and adds nothing. */
export function createScriptedCaller(): Caller & { next(): Promise<Exchange>; readonly pending: number } {
  const exchanges: Exchange[] = [];
  const waiting: ((exchange: Exchange) => void)[] = [];

  function offer<A>(
    request: ApiRequest,
    streaming: (resolve: (value: A) => void) => () => OpenStream,
    from: (value: unknown) => A,
  ) {
    return new Promise<A>((resolve, reject) => {
      request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
      const exchange: Exchange = {
        request,
        answer: (value) => resolve(from(value)),
        fail: reject,
        open: streaming(resolve),
      };
      const taker = waiting.shift();
      if (taker) taker(exchange);
      else exchanges.push(exchange);
    });
  }

  return {
    call: (request) =>
      offer<unknown>(
        request,
        () => () => {
          throw new Error('this is no stream');
        },
        (value) => value,
      ),
    stream: (request) =>
      offer<Readable>(
        request,
        (resolve) => () => {
          const body = new Readable({ read() {} });
          request.signal?.addEventListener('abort', () => body.destroy(), { once: true });
          resolve(body);
          return {
            send: (type, object) => body.push(`${JSON.stringify({ type, object })}\n`),
            end: () => void body.push(null),
            break: (message) => void body.destroy(new Error(message)),
          };
        },
        () => {
          throw new Error('a stream is opened, not answered');
        },
      ),
    close: async () => {},
    async next() {
      return exchanges.shift() ?? new Promise((resolve) => waiting.push(resolve));
    },
    get pending() {
      return exchanges.length;
    },
  };
}

export function listOf(items: readonly KubeObject[], resourceVersion: string, next?: string): unknown {
  return {
    kind: 'List',
    metadata: { resourceVersion, ...(next === undefined ? {} : { continue: next }) },
    items,
  };
}
