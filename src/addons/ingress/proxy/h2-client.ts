import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Timed } from './deadlines.ts';
import { Exchange } from './exchange.ts';
import { fieldsFrom, headersOf, trailerFrom } from './h2-fields.ts';
import { type Fields, framingOf, MessageError } from './http1/fields.ts';
import { checkAuthority, checkTarget, type RequestHead } from './http1/heads.ts';
import type { Limits } from './limits.ts';
import type { Answer, Client } from './parties.ts';
import { type Traffic, unreadable } from './traffic.ts';

const OF_HTTP1 = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'];

/** As long as it would be in HTTP/1.1. Nobody else holds a client to it that has not taken note of our settings. */
function checkLength(headers: IncomingHttpHeaders, fields: Fields, { headBytes }: Limits): void {
  let length = `${headers[':path']}${headers[':authority']}`.length;
  for (const text of fields) length += text.length + 2;
  if (length > headBytes) throw new MessageError(431, `the header is longer than ${headBytes} bytes`);
}

/** What a stream of HTTP/2 asks for. Throws MessageError: nothing may mean more in HTTP/1.1 than it did here. */
function headFrom(headers: IncomingHttpHeaders, hasBody: boolean, limits: Limits): RequestHead {
  const fields = fieldsFrom(headers);
  checkLength(headers, fields, limits);
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const { host } = headers;
  const authority = text(headers[':authority']) || text(host);
  if (authority === '') throw new MessageError(400, 'the host is missing');
  if (host !== undefined && host !== authority) throw new MessageError(400, 'the host is told twice');
  for (const name of OF_HTTP1)
    if (headers[name] !== undefined) throw new MessageError(400, `HTTP/2 has no field ${name}`);
  const method = text(headers[':method']);
  const { length } = framingOf(fields, false);
  return {
    method,
    ...checkTarget(method, text(headers[':path'])),
    authority: checkAuthority(authority),
    version: '2',
    fields,
    // An endpoint of HTTP/1.1 must be told where the body ends.
    framing: { length: hasBody ? (length ?? 'chunked') : length, connection: [], upgrade: undefined },
  };
}

/** How long what is still to come of a request is passed over once its answer is complete. */
const LINGER_MS = 2_000;

/** One request of an HTTP/2 connection. Due once its answer is written: then no exchange looks after it any more. */
class H2Client implements Client, Timed {
  dueMs = Number.POSITIVE_INFINITY;
  readonly remoteAddress: string;
  readonly isSecure = true;
  readonly upgrade = undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #traffic: Traffic;
  #trailer: Fields = [];
  #written = 0;
  #taken = 0;

  constructor(stream: ServerHttp2Stream, remoteAddress: string, traffic: Traffic) {
    this.#stream = stream;
    this.#traffic = traffic;
    this.remoteAddress = remoteAddress;
    stream.on('wantTrailers', () => this.#sendTrailer());
  }

  #isOpen(): boolean {
    return !this.#stream.destroyed && !this.#stream.closed;
  }
  interim(status: number, fields: Fields): void {
    if (this.#isOpen()) this.#stream.additionalHeaders({ ':status': status, ...headersOf(fields) });
  }
  respond({ status, fields, length }: Answer): void {
    if (!this.#isOpen()) return;
    this.#traffic.stamp(fields);
    const counted = typeof length === 'number' ? { 'content-length': `${length}` } : {};
    const headers = { ':status': status, ...headersOf(fields), ...counted };
    this.#stream.respond(headers, length === 'none' ? { endStream: true } : { waitForTrailers: true });
  }
  #sendTrailer(): void {
    try {
      this.#stream.sendTrailers(headersOf(this.#trailer));
      if (!this.#stream.readableEnded) this.#dueIn(LINGER_MS);
    } catch {
      this.abort();
    }
  }
  write(part: Buffer): boolean {
    if (!this.#isOpen() || this.#stream.writableEnded) return true;
    this.#written += part.length;
    return this.#stream.write(part);
  }
  get takenBytes(): number {
    return this.#written - this.#stream.writableLength;
  }
  flush(): void {}
  end(trailer: Fields = []): void {
    this.#trailer = trailer;
    if (!this.#isOpen()) return;
    const { deadlines, limits } = this.#traffic;
    this.#taken = this.takenBytes;
    this.#dueIn(this.#stream.writableEnded ? LINGER_MS : limits.idleMs);
    deadlines.add(this);
    this.#stream.once('close', () => deadlines.remove(this));
    if (!this.#stream.writableEnded) this.#stream.end();
    // What of its request is still to come is for nobody.
    this.#stream.resume();
  }
  abort(): void {
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
  #dueIn(ms: number): void {
    this.dueMs = this.#traffic.deadlines.nowMs + ms;
  }
  /** Nothing of the answer was taken for too long, or what is still to come of the request is for nobody. */
  expire(): void {
    const taken = this.takenBytes;
    const { closed, writableFinished } = this.#stream;
    if (closed) this.#stream.destroy();
    else if (taken > this.#taken) this.#dueIn(this.#traffic.limits.idleMs);
    else this.#stream.close(writableFinished ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
    this.#taken = taken;
  }
  pause(): void {
    this.#stream.pause();
  }
  resume(): void {
    this.#stream.resume();
  }
}

/** Serves one stream. */
export function serveStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  remoteAddress: string,
  traffic: Traffic,
): void {
  const hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0;
  const client = new H2Client(stream, remoteAddress, traffic);
  stream.on('error', () => {});
  try {
    const exchange = new Exchange(traffic, headFrom(headers, hasBody, traffic.limits), client);
    let trailer: Fields | undefined;
    stream.on('data', (part: Buffer) => exchange.part(part));
    stream.on('trailers', (fields) => {
      try {
        trailer = trailerFrom(fields);
      } catch {
        exchange.gone(400);
        stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
      }
    });
    stream.on('end', () => {
      if (hasBody) exchange.requestEnd(trailer);
    });
    stream.on('drain', () => exchange.drained());
    stream.on('aborted', () => exchange.gone());
    stream.on('close', () => exchange.gone());
    exchange.begin(hasBody);
  } catch (error) {
    const status = error instanceof MessageError ? error.status : 500;
    traffic.served(unreadable(client, status));
    client.respond({ status, fields: [], length: 'none' });
    client.end();
  }
}
