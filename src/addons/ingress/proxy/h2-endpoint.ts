import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectTcp } from 'node:net';
import type { Deadlines, Timed } from './deadlines.ts';
import { addressOf } from './endpoint-pool.ts';
import { fieldsFrom, headersOf, trailerFrom } from './h2-fields.ts';
import { type Fields, goesOn } from './http1/fields.ts';
import type { RequestHead } from './http1/heads.ts';
import type { Limits } from './limits.ts';
import type { BackendEvents, BackendStream } from './parties.ts';

/** What becomes of a wish for a stream; both of the latter say that nothing was sent. */
export interface StreamWish {
  connected(stream: BackendStream): void;
  connectFailed(error: Error): void;
  /** HTTP/2 cannot carry such a request to any endpoint. */
  refused(): void;
}

/** HTTP/2 without TLS to endpoints, one connection each, kept while streams use it and for some seconds after. */
export interface H2Pool {
  /** `isDone`: the request has no body. Answers how to wish for it no more. */
  request(
    endpoint: string,
    head: RequestHead,
    fields: Fields,
    isDone: boolean,
    events: BackendEvents,
    wish: StreamWish,
  ): () => void;
  keepOnly(endpoints: ReadonlySet<string>): void;
  close(): void;
}

interface Kept extends Timed {
  session: ClientHttp2Session;
  /** What those are told who wait for it when it ends. */
  failure: Error;
  streams: number;
  /** Nobody else is to use it. */
  isGone: boolean;
}

export function createH2Pool({ deadlines, limits }: { deadlines: Deadlines; limits: Limits }): H2Pool {
  const all = new Map<string, Kept>();

  function sessionTo(endpoint: string): Kept {
    const there = all.get(endpoint);
    if (there && !there.session.closed && !there.session.destroyed) return there;
    const socket = connectTcp(addressOf(endpoint));
    const session = connect(`http://${endpoint}`, {
      createConnection: () => socket,
      settings: { enablePush: false },
    });
    const kept: Kept = {
      session,
      failure: new Error('no connection'),
      streams: 0,
      isGone: false,
      dueMs: Number.POSITIVE_INFINITY,
      expire: () => session.close(),
    };
    // A session that is destroyed waits for its connection all the same.
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection within ${limits.connectMs} ms`)),
      limits.connectMs,
    );
    session.once('connect', () => clearTimeout(timer));
    session.on('error', (error) => {
      kept.failure = error;
    });
    session.on('goaway', () => {
      if (all.get(endpoint) === kept) all.delete(endpoint);
    });
    session.once('close', () => {
      clearTimeout(timer);
      deadlines.remove(kept);
      if (all.get(endpoint) === kept) all.delete(endpoint);
    });
    deadlines.add(kept);
    all.set(endpoint, kept);
    return kept;
  }

  return {
    request(endpoint, head, fields, isDone, events, wish) {
      const kept = sessionTo(endpoint);
      const { session } = kept;
      const begin = () => {
        session.off('close', failed);
        let stream: ClientHttp2Stream;
        try {
          stream = session.request(pseudoAndFields(head, fields), {
            endStream: isDone,
            waitForTrailers: !isDone,
          });
        } catch {
          // Not before the caller has what it cancels its wish with.
          queueMicrotask(session.closed || session.destroyed ? failed : wish.refused);
          return;
        }
        kept.streams += 1;
        kept.dueMs = Number.POSITIVE_INFINITY;
        stream.once('close', () => {
          kept.streams -= 1;
          if (kept.streams > 0) return;
          if (kept.isGone) session.close();
          else kept.dueMs = deadlines.nowMs + limits.endpointIdleMs;
        });
        wish.connected(streamTo(stream, isDone, head.method === 'HEAD', events));
      };
      const failed = () => {
        session.off('connect', begin);
        wish.connectFailed(kept.failure);
      };
      if (!session.connecting) {
        begin();
        return () => {};
      }
      session.once('connect', begin).once('close', failed);
      return () => void session.off('connect', begin).off('close', failed);
    },
    keepOnly(endpoints) {
      for (const [endpoint, kept] of [...all]) {
        if (endpoints.has(endpoint)) continue;
        all.delete(endpoint);
        kept.isGone = true;
        const close = () => void (kept.streams === 0 && kept.session.close());
        // With streams it ends after the last one: GOAWAY would pass by a request that was not yet sent. Who waits for it comes first.
        if (kept.session.connecting) kept.session.once('connect', close);
        else close();
      }
    },
    close() {
      for (const { session } of [...all.values()]) session.close();
    },
  };
}

/** Of a field that there may be once only, two make node:http2 throw. */
function pseudoAndFields(head: RequestHead, fields: Fields): OutgoingHttpHeaders {
  const { length } = head.framing;
  return {
    ':method': head.method,
    ':path': head.target,
    ':authority': head.authority,
    ':scheme': 'http',
    ...headersOf(fields),
    ...(typeof length === 'number' ? { 'content-length': `${length}` } : {}),
  };
}

/** Turns the events of a stream into those of an answer. */
function streamTo(
  stream: ClientHttp2Stream,
  isDone: boolean,
  isHead: boolean,
  events: BackendEvents,
): BackendStream {
  let trailer: Fields | undefined;
  let sent: Fields = [];
  let isAnswered = false;
  let isBodiless = false;
  let isOver = false;
  const fail = (error: Error) => {
    if (isOver) return;
    isOver = true;
    stream.destroy();
    events.failed(error);
  };
  const taken = (act: () => void) => {
    try {
      act();
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  };
  stream.on('headers', (headers) =>
    taken(() => events.interim(Number(headers[':status']), fieldsFrom(headers))),
  );
  stream.on('response', (headers, flags) =>
    taken(() => {
      isAnswered = true;
      const status = Number(headers[':status']);
      const all = fieldsFrom(headers);
      const fields: Fields = [];
      isBodiless = (flags & 1) === 1 || isHead || status === 204 || status === 304;
      let length: number | 'open' | 'none' = isBodiless ? 'none' : 'open';
      for (let at = 0; at < all.length; at += 2) {
        const [name = '', value = ''] = [all[at], all[at + 1]];
        if (name === 'content-length' && length === 'open') length = Number(value);
        // What the body would be long, of an answer without one.
        const isWouldBe = name === 'content-length' && (isHead || status === 304);
        if (goesOn(name, []) || isWouldBe) fields.push(name, value);
      }
      events.answered({ status, fields, length });
    }),
  );
  stream.on('data', (part: Buffer) => {
    // HTTP/1.1 would take it for the beginning of the next answer.
    if (isBodiless) return;
    events.data(part);
    events.pausing();
  });
  stream.on('drain', () => events.backendDrained());
  stream.on('trailers', (headers) =>
    taken(() => {
      trailer = trailerFrom(headers);
    }),
  );
  stream.on('wantTrailers', () => taken(() => stream.sendTrailers(headersOf(sent))));
  stream.on('error', fail);
  stream.on('end', () => {
    if (isOver || !isAnswered || stream.rstCode !== 0) return;
    isOver = true;
    // What of the request is still to come is for nobody.
    if (!stream.writableFinished) stream.close(constants.NGHTTP2_CANCEL);
    events.answerEnd(trailer);
  });
  stream.on('close', () => fail(new Error('the endpoint reset the stream')));
  return {
    write: (part) => stream.write(part),
    end(more) {
      sent = more ?? [];
      if (!isDone) stream.end();
    },
    abort() {
      isOver = true;
      stream.destroy();
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
  };
}
