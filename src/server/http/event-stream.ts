import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Clock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import { onDeparture } from './departure.ts';

/** An event of a stream. Its data become one line of JSON. */
export interface ServerEvent {
  event: string;
  data: unknown;
  /** Id that a client sends in `Last-Event-ID` when it connects again. */
  id?: string | undefined;
}

/** Proxies close connections that are silent for a minute or so. */
const HEARTBEAT_MS = 15_000;
/** A client that reads more slowly than events come is cut off, and continues with its last event. */
const MAX_BUFFERED = 1024 * 1024;
/** Time in which a client reads the rest of a stream that has ended. */
const DRAIN_MS = 30_000;
/** A stream ends after this time; the client connects again and is authenticated again. */
const LONGEST_MS = 2 * 3_600_000;

/** Formats an event (WHATWG HTML, 9.2.5, Parsing an event stream). */
const eventText = ({ event, data, id }: ServerEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** Returns the id of the last event that the client has; undefined if it has none. */
export function lastEventId(headers: IncomingMessage['headers']): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

export interface StreamSource {
  raw: IncomingMessage;
  clock: Clock;
  log: Logger;
  /** Aborts when the server stops. */
  closing: AbortSignal;
  /** Called once, when the stream has ended. */
  leave(): void;
}

/** Stream of events to one client. */
export interface EventSink {
  /** Sends an event now. A client that has left too many unread is cut off. */
  send(event: ServerEvent): void;
  /** Sends an event, and waits until the client has room for more. */
  paced(event: ServerEvent): Promise<void>;
  /** Aborts when the client has left, or the server stops. */
  signal: AbortSignal;
}

/**
 * Answers with the events that `produce` sends, until it ends, fails, or the client leaves. A stream that ends early has no
 * last event of its own, so clients connect again.
 */
export function sendEvents(
  reply: FastifyReply,
  { raw, clock, log, closing, leave }: StreamSource,
  produce: (sink: EventSink) => Promise<void>,
): FastifyReply {
  const stream = new PassThrough();
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, closing, AbortSignal.timeout(LONGEST_MS)]);
  let stopHeartbeat = (): void => {};
  let keepConnection = (): void => {};
  const beat = (): void => {
    stream.write(':\n\n');
    stopHeartbeat = clock.after(HEARTBEAT_MS, beat);
  };
  onDeparture(raw, reply.raw, () => {
    gone.abort(new Error('the client has left'));
    stopHeartbeat();
    keepConnection();
    leave();
  });
  const sink: EventSink = {
    signal,
    send(event) {
      if (signal.aborted) return;
      stream.write(eventText(event));
      if (stream.writableLength > MAX_BUFFERED) gone.abort(new Error('the client reads too slowly'));
    },
    async paced(event) {
      signal.throwIfAborted();
      if (!stream.write(eventText(event))) await once(stream, 'drain', { signal });
    },
  };
  beat();
  produce(sink)
    .catch((error: unknown) => {
      if (!signal.aborted) log.warn({ error: messageOf(error) }, 'a stream of events ends early');
    })
    .finally(() => {
      stopHeartbeat();
      stream.end();
      if (!reply.raw.destroyed) keepConnection = clock.after(DRAIN_MS, () => reply.raw.destroy());
    });
  return reply
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .type('text/event-stream; charset=utf-8')
    .send(stream);
}

/** Interval in which the rights of a client are checked again. */
const AUTHORIZE_MS = 30_000;

/** Runs `work` with a sink whose signal also aborts when the client may no longer read. */
export async function whileAllowed(
  clock: Clock,
  sink: EventSink,
  authorize: () => Promise<void>,
  work: (sink: EventSink) => Promise<void>,
): Promise<void> {
  const refused = new AbortController();
  const signal = AbortSignal.any([sink.signal, refused.signal]);
  let cancel = (): void => {};
  const check = (): void => {
    authorize().then(
      () => {
        if (!signal.aborted) cancel = clock.after(AUTHORIZE_MS, check);
      },
      (error: unknown) => refused.abort(error),
    );
  };
  cancel = clock.after(AUTHORIZE_MS, check);
  try {
    await work({ ...sink, signal });
  } finally {
    cancel();
    refused.abort(new Error('the stream has ended'));
  }
}
