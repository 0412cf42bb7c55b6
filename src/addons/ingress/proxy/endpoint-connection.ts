import type { Socket } from 'node:net';
import type { Deadlines, Timed } from './deadlines.ts';
import { type BodyReader, requestBody, responseBody, writeLast, writePart } from './http1/body.ts';
import { type Fields, goesOn, type Length } from './http1/fields.ts';
import { endOfHead, type ResponseHead, responseHead } from './http1/heads.ts';
import type { Limits } from './limits.ts';
import type { Answer, BackendEvents, BackendStream } from './parties.ts';

/** A request as it is written to an endpoint. */
export interface Outgoing {
  /** Start line and fields, with the empty line. */
  head: string;
  length: Length;
  isHead: boolean;
  isUpgrade: boolean;
}

export interface EndpointConnectionDeps {
  deadlines: Deadlines;
  limits: Limits;
  /** It may be used again. */
  onIdle(connection: EndpointConnection): void;
  onClosed(connection: EndpointConnection): void;
}

/** One HTTP/1.1 connection to an endpoint: one request at a time. */
export class EndpointConnection implements BackendStream, Timed {
  dueMs = Number.POSITIVE_INFINITY;
  readonly endpoint: string;
  readonly #socket: Socket;
  readonly #deps: EndpointConnectionDeps;
  #events: BackendEvents | undefined;
  #asked: Outgoing | undefined;
  #held: Buffer | undefined;
  #body: BodyReader | undefined;
  #isSent = false;
  #sentBytes = 0;
  #isReusable = false;
  #isOpenEnded = false;

  constructor(endpoint: string, socket: Socket, deps: EndpointConnectionDeps) {
    this.endpoint = endpoint;
    this.#socket = socket;
    this.#deps = deps;
    socket.on('data', (bytes) => this.#onData(bytes));
    socket.on('drain', () => this.#events?.backendDrained());
    socket.on('error', (error) => this.#broke(error));
    socket.on('end', () => this.#onEnd());
    socket.on('close', () => {
      this.#broke(new Error('the endpoint closed the connection'));
      deps.deadlines.remove(this);
      deps.onClosed(this);
    });
    deps.deadlines.add(this);
  }

  get isUsable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable && !this.#socket.readableEnded;
  }

  begin(asked: Outgoing, events: BackendEvents): void {
    this.#asked = asked;
    this.#events = events;
    this.#body = undefined;
    this.#isSent = false;
    this.#sentBytes = 0;
    this.dueMs = Number.POSITIVE_INFINITY;
    this.#socket.write(asked.head, 'latin1');
  }

  write(part: Buffer): boolean {
    const { length } = this.#asked ?? {};
    this.#sentBytes += part.length;
    // HTTP/2 tells a length beside its own framing: more than that would be the next request's beginning.
    if (typeof length === 'number' && this.#sentBytes > length) {
      this.#broke(new Error('the request has more bytes than it said'));
      return false;
    }
    return writePart(this.#socket, part, length === 'chunked');
  }

  end(): void {
    const { length } = this.#asked ?? {};
    if (typeof length === 'number' && this.#sentBytes < length) {
      this.#broke(new Error('the request has fewer bytes than it said'));
      return;
    }
    if (length === 'chunked') writeLast(this.#socket);
    this.#isSent = true;
  }

  abort(): void {
    this.#events = undefined;
    this.#socket.destroy();
  }
  pause(): void {
    this.#socket.pause();
  }
  resume(): void {
    this.#socket.resume();
  }

  /** Its time in the pool is over. */
  expire(): void {
    this.abort();
  }

  #broke(error: Error): void {
    const events = this.#events;
    this.abort();
    events?.failed(error);
  }

  #onEnd(): void {
    if (this.#body && this.#isOpenEnded) {
      this.#finish();
      return;
    }
    this.#broke(new Error('the endpoint closed the connection before its answer was complete'));
  }

  #onData(chunk: Buffer): void {
    if (!this.#events) return void this.#socket.destroy();
    const bytes = this.#held ? Buffer.concat([this.#held, chunk]) : chunk;
    this.#held = undefined;
    try {
      this.#take(bytes);
    } catch (error) {
      this.#broke(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #take(given: Buffer): void {
    let bytes = given;
    while (!this.#body) {
      const end = endOfHead(bytes, this.#deps.limits);
      if (end === undefined) {
        this.#held = bytes;
        return;
      }
      const head = responseHead(bytes, end, this.#deps.limits);
      bytes = bytes.subarray(end);
      if (head.status === 101) {
        this.#onUpgrade(head, bytes);
        return;
      }
      if (head.status < 200) this.#events?.interim(head.status, onward(head));
      else this.#answered(head);
    }
    const events = this.#events;
    const used = this.#body.read(bytes, (part) => events?.data(part));
    if (this.#body.isDone) {
      // Bytes that nobody asked for would be taken for the answer to somebody else.
      if (used < bytes.length) this.#isReusable = false;
      this.#finish();
    }
    events?.pausing();
  }

  #answered(head: ResponseHead): void {
    const { status, framing, isOldVersion } = head;
    const hasNone = this.#asked?.isHead || status === 204 || status === 304;
    this.#body = hasNone ? requestBody(0) : responseBody(framing.length);
    this.#isOpenEnded = !hasNone && framing.length === undefined;
    this.#isReusable = !isOldVersion && !this.#isOpenEnded && !framing.connection.includes('close');
    const counted = typeof framing.length === 'number' ? framing.length : 'open';
    const fields = onward(head);
    // What the body would be long, of an answer without one.
    if (hasNone && typeof framing.length === 'number' && status !== 204)
      fields.push('content-length', `${framing.length}`);
    this.#events?.answered({ status, fields, length: hasNone ? 'none' : counted });
  }

  #onUpgrade(head: ResponseHead, rest: Buffer): void {
    const events = this.#events;
    if (!this.#asked?.isUpgrade || !events)
      throw new Error('the endpoint changed the protocol without being asked');
    this.#events = undefined;
    const socket = this.#socket;
    for (const event of ['data', 'drain', 'end'] as const) socket.removeAllListeners(event);
    const { framing } = head;
    const fields = [...onward(head), 'connection', 'Upgrade', 'upgrade', framing.upgrade ?? ''];
    const answer: Answer = { status: 101, fields, length: 'none' };
    events.upgraded(answer, socket, rest);
  }

  #finish(): void {
    const events = this.#events;
    this.#events = undefined;
    if (this.#isReusable && this.#isSent && this.isUsable) {
      this.#socket.resume();
      this.dueMs = this.#deps.deadlines.nowMs + this.#deps.limits.endpointIdleMs;
      this.#deps.onIdle(this);
    } else this.#socket.destroy();
    events?.answerEnd();
  }
}

/** The fields of an answer that go on to the client. */
function onward({ fields, framing: { connection } }: ResponseHead): Fields {
  const kept: Fields = [];
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    if (goesOn(name, connection)) kept.push(name, fields[at + 1] ?? '');
  }
  return kept;
}
