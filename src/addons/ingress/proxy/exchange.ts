import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { hostOf } from '../routing/hosts.ts';
import type { Route } from '../routing/table.ts';
import type { Timed } from './deadlines.ts';
import type { EndpointConnection } from './endpoint-connection.ts';
import { forwardedFields, outgoingOf } from './forwarded.ts';
import type { Fields } from './http1/fields.ts';
import { type RequestHead, withoutPort } from './http1/heads.ts';
import type { Answer, BackendEvents, BackendStream, Client, ClientEvents } from './parties.ts';
import { type Traffic, textAnswer } from './traffic.ts';

/** Endpoints that are tried for one request; only while nothing was sent to any. */
const MAX_TRIES = 3;
/** Answers before the answer (1xx) that an endpoint may give to one request. */
const MAX_INTERIM = 8;

/** One request and its answer: finds the endpoint, and hands on what either side tells, as it comes. */
export class Exchange implements ClientEvents, BackendEvents, Timed {
  dueMs: number;
  readonly #traffic: Traffic;
  readonly #head: RequestHead;
  readonly #client: Client;
  readonly #startMs: number;
  readonly #host: string;
  #route: Route | undefined;
  #fields: Fields = [];
  #tried: string[] = [];
  #backend: BackendStream | undefined;
  #cancelWish = () => {};
  /** Of the body, from before there was an endpoint. */
  #early: Buffer[] = [];
  #isRequestDone = false;
  #trailer: Fields | undefined;
  #status = 0;
  #isOver = false;
  #isHeld = false;
  #interims = 0;
  /** What the client had taken when it had enough for now: then taking more counts as well. */
  #taken = Number.POSITIVE_INFINITY;
  #bytesIn = 0;
  #bytesOut = 0;

  constructor(traffic: Traffic, head: RequestHead, client: Client) {
    this.#traffic = traffic;
    this.#head = head;
    this.#client = client;
    this.#startMs = traffic.nowMs();
    this.#host = hostOf(withoutPort(head.authority));
    this.dueMs = traffic.deadlines.nowMs + traffic.limits.idleMs;
  }

  /** To be called once, when the client's side can take an answer. `hasBody`: parts or an end of it will follow. */
  begin(hasBody: boolean): void {
    this.#isRequestDone = !hasBody;
    this.#traffic.deadlines.add(this);
    const { limits } = this.#traffic;
    const { length } = this.#head.framing;
    if (limits.bodyBytes > 0 && typeof length === 'number' && length > limits.bodyBytes) {
      return void this.#answer(413);
    }
    const table = this.#traffic.table();
    this.#route = table?.find(this.#host, this.#head.path);
    if (!this.#route) {
      return void this.#answer(table ? 404 : 503);
    }
    this.#fields = forwardedFields(this.#head, this.#client, this.#traffic.trust);
    this.#try(503);
  }

  /** `otherwise`: what the client is told where no endpoint is left. */
  #try(otherwise: number): void {
    const route = this.#route;
    if (!route) return;
    const { endpoints, h2, turns } = this.#traffic;
    const endpoint =
      this.#tried.length < MAX_TRIES ? turns.next(route.name, route.backend, this.#tried) : undefined;
    if (endpoint === undefined) {
      return void this.#answer(otherwise);
    }
    this.#tried.push(endpoint);
    if (!this.#isRequestDone) this.#hold();
    const connectFailed = (error: Error) => {
      turns.ailing(endpoint);
      if (!this.#isOver) this.#try(/no connection within/.test(error.message) ? 504 : 502);
    };
    if (route.backend.protocol === 'h2c') {
      const isDone = this.#isRequestDone && this.#early.length === 0;
      const connected = (stream: BackendStream) => this.#connected(stream);
      const refused = () => this.#isOver || this.#answer(400);
      const wish = { connected, connectFailed, refused };
      this.#cancelWish = h2.request(endpoint, this.#head, this.#fields, isDone, this, wish);
    } else {
      const connected = (one: EndpointConnection) => {
        one.begin(outgoingOf(this.#head, this.#fields, this.#client.upgrade !== undefined), this);
        this.#connected(one);
      };
      this.#cancelWish = endpoints.acquire(endpoint, { connected, connectFailed });
    }
  }

  #connected(stream: BackendStream): void {
    this.#cancelWish = () => {};
    this.#backend = stream;
    let isRoom = true;
    for (const part of this.#early.splice(0)) isRoom = stream.write(part);
    if (this.#isRequestDone) stream.end(this.#trailer);
    else if (isRoom) this.#release();
  }

  #hold(): void {
    if (!this.#isHeld) this.#client.pause();
    this.#isHeld = true;
  }
  #release(): void {
    if (this.#isHeld) this.#client.resume();
    this.#isHeld = false;
  }
  #touch(): void {
    this.dueMs = this.#traffic.deadlines.nowMs + this.#traffic.limits.idleMs;
  }

  // The client's side.
  part(part: Buffer): void {
    if (this.#isOver) return;
    this.#touch();
    this.#bytesIn += part.length;
    const { bodyBytes } = this.#traffic.limits;
    if (bodyBytes > 0 && this.#bytesIn > bodyBytes) {
      return void this.#fail(413);
    }
    if (!this.#backend) this.#early.push(part);
    else if (!this.#backend.write(part)) this.#hold();
  }
  requestEnd(trailer?: Fields): void {
    this.#isRequestDone = true;
    this.#trailer = trailer;
    if (!this.#isOver) this.#backend?.end(trailer);
  }
  gone(status = 0): void {
    // The endpoint's connection may serve somebody else by now.
    if (this.#isOver) return;
    if (this.#status === 0) this.#status = status;
    this.#finish();
    this.#backend?.abort();
  }
  drained(): void {
    if (this.#isOver) return;
    this.#touch();
    this.#taken = Number.POSITIVE_INFINITY;
    this.#backend?.resume();
  }

  // The endpoint's side.
  interim(status: number, fields: Fields): void {
    if (this.#isOver) return;
    this.#interims += 1;
    if (this.#interims > MAX_INTERIM) this.#fail(502);
    else if (this.#head.version !== '1.0') this.#client.interim(status, fields);
  }
  answered(answer: Answer): void {
    this.#touch();
    // Throws where the client cannot be told such an answer: then it has none yet.
    this.#client.respond(answer);
    this.#status = answer.status;
  }
  data(part: Buffer): void {
    if (this.#isOver) return;
    this.#touch();
    this.#bytesOut += part.length;
    if (this.#client.write(part)) return;
    this.#taken = this.#client.takenBytes;
    this.#backend?.pause();
  }
  pausing(): void {
    if (!this.#isOver) this.#client.flush();
  }
  backendDrained(): void {
    this.#touch();
    this.#release();
  }
  answerEnd(trailer?: Fields): void {
    if (this.#isOver) return;
    this.#finish();
    this.#client.end(trailer);
  }
  failed(): void {
    if (!this.#isOver) this.#fail(502);
  }
  upgraded(answer: Answer, backend: Duplex, rest: Buffer): void {
    this.#status = answer.status;
    this.#finish();
    if (this.#client.upgrade) this.#client.upgrade(answer, backend, rest);
    else backend.destroy();
  }

  expire(): void {
    const taken = this.#client.takenBytes;
    if (taken > this.#taken) {
      this.#taken = taken;
      this.#touch();
      return;
    }
    // Whose turn it was: the client's while its request was neither done nor held back.
    this.#fail(this.#isRequestDone || this.#isHeld ? 504 : 408);
  }

  #fail(status: number): void {
    if (this.#status === 0) this.#answer(status);
    else this.#breakOff();
  }

  /** An answer of our own. */
  #answer(status: number): void {
    this.#status = status;
    this.#finish();
    this.#backend?.abort();
    const body = Buffer.from(`${status} ${STATUS_CODES[status]}\n`);
    const length = this.#head.method === 'HEAD' ? 'none' : body.length;
    this.#client.respond(textAnswer(status, length));
    if (length !== 'none') this.#client.write(body);
    this.#client.end();
  }

  #breakOff(): void {
    this.#finish();
    this.#backend?.abort();
    this.#client.abort();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelWish();
    this.#early = [];
    this.#traffic.deadlines.remove(this);
    this.#release();
    const { method, path, version } = this.#head;
    const { remoteAddress: client, isSecure } = this.#client;
    this.#traffic.served({
      ...{ method, host: this.#host, path, version, client, isSecure, status: this.#status },
      backend: this.#route?.name ?? '',
      endpoint: this.#tried.at(-1) ?? '',
      ms: this.#traffic.nowMs() - this.#startMs,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
    });
  }
}
