import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Timed } from './deadlines.ts';
import { Exchange } from './exchange.ts';
import { plainAddress } from './forwarded.ts';
import { AnswerWriter } from './http1/answer-writer.ts';
import { type BodyReader, requestBody } from './http1/body.ts';
import { type Fields, MessageError } from './http1/fields.ts';
import { endOfHead, type RequestHead, requestHead } from './http1/heads.ts';
import type { Answer, Client } from './parties.ts';
import { type Traffic, textAnswer, unreadable } from './traffic.ts';
import { tunnel } from './tunnel.ts';

/** How long a client that we stopped listening to may take to read why. */
const LINGER_MS = 2_000;

/** One HTTP/1.1 connection of a client. */
export class Http1Client implements Client, Timed {
  dueMs: number;
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  readonly #socket: Socket;
  readonly #writer: AnswerWriter;
  readonly #traffic: Traffic;
  #state: 'head' | 'body' | 'answer' | 'closing' | 'tunnel' = 'head';
  #held: Buffer | undefined;
  #exchange: Exchange | undefined;
  #body: BodyReader = requestBody(0);
  #isOld = false;
  #isKept = true;
  #isDraining = false;
  #isWorking = false;
  #requestDueMs = 0;
  #isAnswering = false;
  #taken = 0;

  constructor(socket: Socket, isSecure: boolean, traffic: Traffic) {
    this.#socket = socket;
    this.#writer = new AnswerWriter(socket, traffic.stamp);
    this.#traffic = traffic;
    this.isSecure = isSecure;
    this.remoteAddress = plainAddress(socket.remoteAddress ?? '');
    this.dueMs = traffic.deadlines.nowMs + traffic.limits.headersMs;
    traffic.deadlines.add(this);
    socket.on('data', (bytes) => this.#onData(bytes));
    socket.on('drain', () => this.#onDrain());
    socket.on('error', () => {});
    socket.on('close', () => {
      traffic.deadlines.remove(this);
      this.#leave();
    });
    socket.on('end', () => {
      this.#leave();
      socket.end();
    });
  }

  /** The next answer is the last one. */
  shed(): void {
    this.#isDraining = true;
  }
  /** Ends it: at once where no request is under way, else with the answer. */
  drain(): void {
    this.shed();
    if (this.#state === 'head' && !this.#held) this.#socket.end();
  }
  destroy(): void {
    this.#socket.destroy();
  }

  /** `status`: what the client is told, where it is still there. */
  #leave(status?: number): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.gone(status);
  }

  #onData(chunk: Buffer): void {
    if (this.#state === 'closing' || this.#state === 'tunnel') return;
    if (this.#state === 'head' && !this.#held) this.#firstByte();
    this.#held = this.#held ? Buffer.concat([this.#held, chunk]) : chunk;
    this.#work();
  }

  #firstByte(): void {
    const { deadlines, limits } = this.#traffic;
    this.dueMs = deadlines.nowMs + limits.headersMs;
    this.#requestDueMs = deadlines.nowMs + limits.requestMs;
  }

  /** Requests that came together are answered one after the other, without one calling the next. */
  #work(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    try {
      while (this.#held && this.#mayTake()) {
        const before = this.#held;
        if (this.#state === 'head') this.#takeHead(before);
        else this.#takeBody(before);
        if (this.#held === before) break;
      }
      // More than was asked for waits in the socket, whose buffer is bounded.
      if (this.#held && !this.#mayTake()) this.#socket.pause();
    } catch (error) {
      this.#refuse(error);
    } finally {
      this.#isWorking = false;
    }
  }

  /** Whoever asks on and on, and does not read, gets no further answers. */
  #mayTake(): boolean {
    return this.#state === 'body' || (this.#state === 'head' && !this.#socket.writableNeedDrain);
  }

  #onDrain(): void {
    if (this.#exchange) this.#exchange.drained();
    else if (this.#held && this.#state === 'head') {
      this.#socket.resume();
      this.#work();
    }
  }

  #takeHead(bytes: Buffer): void {
    const { limits } = this.#traffic;
    const end = endOfHead(bytes, limits);
    if (end === undefined) return;
    const head = requestHead(bytes, end, limits);
    this.#held = end < bytes.length ? bytes.subarray(end) : undefined;
    this.#start(head);
  }

  #start(head: RequestHead): void {
    const { length, connection } = head.framing;
    this.#isOld = head.version === '1.0';
    this.#isKept = !this.#isOld && !connection.includes('close');
    this.#body = requestBody(length);
    const hasBody = !this.#body.isDone;
    this.#state = hasBody ? 'body' : 'answer';
    this.dueMs = hasBody ? this.#requestDueMs : Number.POSITIVE_INFINITY;
    const exchange = new Exchange(this.#traffic, head, this);
    this.#exchange = exchange;
    exchange.begin(hasBody);
  }

  #takeBody(bytes: Buffer): void {
    const exchange = this.#exchange;
    const used = this.#body.read(bytes, (part) => exchange?.part(part));
    this.#held = used < bytes.length ? bytes.subarray(used) : undefined;
    if (!this.#body.isDone || this.#state !== 'body') return;
    this.#state = 'answer';
    this.dueMs = Number.POSITIVE_INFINITY;
    exchange?.requestEnd();
  }

  #refuse(error: unknown): void {
    const status = error instanceof MessageError ? error.status : 500;
    const message = error instanceof MessageError ? error.message : 'a mistake of ours';
    if (!this.#exchange) this.#traffic.served(unreadable(this, status));
    this.#leave(status);
    // Half an answer cannot be taken back.
    if (this.#isAnswering) return void this.#socket.destroy();
    this.#isKept = false;
    this.respond(textAnswer(status, message.length + 1));
    this.write(Buffer.from(`${message}\n`));
    this.#close();
  }
  interim(status: number, fields: Fields): void {
    this.#writer.interim(status, fields);
  }

  respond(answer: Answer): void {
    this.#isAnswering = true;
    // A request that is not all here would be read as the next one; an answer to HTTP/1.0 may have to end with its connection.
    if (this.#state !== 'answer' || this.#isDraining) this.#isKept = false;
    this.#writer.respond(answer, { isLast: !this.#isKept, isOld: this.#isOld });
  }

  write = (part: Buffer) => this.#writer.write(part);
  get takenBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }
  flush = () => this.#writer.flush();

  end(): void {
    this.#writer.end();
    this.#exchange = undefined;
    if (!this.#isKept || this.#isDraining) {
      this.#close();
      return;
    }
    this.#isAnswering = false;
    this.#state = 'head';
    const { deadlines, limits } = this.#traffic;
    this.dueMs = deadlines.nowMs + (this.#socket.writableLength > 0 ? limits.idleMs : limits.keepAliveMs);
    this.#taken = this.takenBytes;
    if (!this.#held) return;
    this.#firstByte();
    this.#socket.resume();
    if (!this.#isWorking) setImmediate(() => this.#work());
  }

  /** Says that no more comes, and lets the client read that before the connection is gone. */
  #close(): void {
    this.flush();
    this.#state = 'closing';
    this.#held = undefined;
    this.#exchange = undefined;
    const { deadlines, limits } = this.#traffic;
    this.dueMs = deadlines.nowMs + limits.idleMs;
    this.#taken = this.takenBytes;
    this.#socket.once('finish', () => {
      this.dueMs = deadlines.nowMs + LINGER_MS;
    });
    this.#socket.end();
    this.#socket.resume();
  }

  abort(): void {
    this.#exchange = undefined;
    this.#socket.destroy();
  }
  pause = () => void this.#socket.pause();
  resume = () => void this.#socket.resume();

  upgrade = ({ status, fields }: Answer, backend: Duplex, rest: Buffer): void => {
    this.#exchange = undefined;
    this.#state = 'tunnel';
    this.#writer.interim(status, fields);
    if (rest.length > 0) this.#socket.write(rest);
    const early = this.#held;
    this.#held = undefined;
    this.#socket.removeAllListeners('data').removeAllListeners('drain').removeAllListeners('end');
    if (early) backend.write(early);
    tunnel(this.#socket, backend, this, this.#traffic);
  };

  expire(): void {
    const isHead = this.#state === 'head' && this.#held !== undefined && this.#mayTake();
    if (isHead || this.#state === 'body')
      return void this.#refuse(new MessageError(408, `the ${isHead ? 'header' : 'request'} came too slowly`));
    const taken = this.takenBytes;
    // Whoever takes some of the answer may take his time for the rest.
    if (this.#state === 'tunnel' || this.#socket.writableLength === 0 || taken <= this.#taken)
      return void this.#socket.destroy();
    this.#taken = taken;
    this.dueMs = this.#traffic.deadlines.nowMs + this.#traffic.limits.idleMs;
  }
}
