import type { Duplex } from 'node:stream';
import type { Fields } from './http1/fields.ts';

/** The head of an answer on its way to a client: fields that go on to the other end, and how long the body is. */
export interface Answer {
  status: number;
  fields: Fields;
  /** Bytes; `open`: until it ends; `none`: there is no body, whatever the fields say. */
  length: number | 'open' | 'none';
}

/** Whoever asked, as an exchange sees him. Nothing is kept of a body: what is written waits in the socket alone. */
export interface Client {
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  /** An answer before the answer (1xx). */
  interim(status: number, fields: Fields): void;
  respond(answer: Answer): void;
  /** False: enough for now, until `drained`. */
  write(part: Buffer): boolean;
  /** What of all that was written has left for it. */
  readonly takenBytes: number;
  /** Sends what was held back to go together. */
  flush(): void;
  end(trailer?: Fields): void;
  /** The answer breaks off: the client must see that. */
  abort(): void;
  /** The request's body. */
  pause(): void;
  resume(): void;
  /** From now on bytes pass both ways; undefined where this client cannot have that. */
  upgrade: ((answer: Answer, backend: Duplex, rest: Buffer) => void) | undefined;
}

/** What a client tells of its request. */
export interface ClientEvents {
  part(part: Buffer): void;
  requestEnd(trailer?: Fields): void;
  /** It has gone, or its request broke off, for which it is told `status`. */
  gone(status?: number): void;
  drained(): void;
}

/** One request at an endpoint. */
export interface BackendStream {
  write(part: Buffer): boolean;
  end(trailer?: Fields): void;
  abort(): void;
  pause(): void;
  resume(): void;
}

/** What an endpoint tells of its answer. */
export interface BackendEvents {
  interim(status: number, fields: Fields): void;
  answered(answer: Answer): void;
  data(part: Buffer): void;
  /** No more comes at this moment. */
  pausing(): void;
  answerEnd(trailer?: Fields): void;
  /** The request was, or may have been, sent. */
  failed(error: Error): void;
  backendDrained(): void;
  upgraded(answer: Answer, backend: Duplex, rest: Buffer): void;
}
