import type { Socket } from 'node:net';
import type { Answer } from '../parties.ts';
import type { Stamp } from '../stamp.ts';
import { writeLast, writePart } from './body.ts';
import type { Fields } from './fields.ts';
import { headOf } from './heads.ts';

/** Up to this, a body goes with its head in one buffer. */
const SMALL_BYTES = 16_384;

/** Writes answers to a client of HTTP/1.1, each head together with the first bytes of its body. */
export class AnswerWriter {
  readonly #socket: Socket;
  readonly #stamp: Stamp;
  /** Of an answer that waits for the first bytes of its body. */
  #head = '';
  #isChunked = false;

  constructor(socket: Socket, stamp: Stamp) {
    this.#socket = socket;
    this.#stamp = stamp;
  }

  interim(status: number, fields: Fields): void {
    this.#socket.write(headOf(status, fields, ''), 'latin1');
  }

  /** `isLast`: the connection ends after it. `isOld`: an HTTP/1.0 client knows no chunks. */
  respond({ status, fields, length }: Answer, { isLast, isOld }: { isLast: boolean; isOld: boolean }): void {
    this.#stamp(fields);
    this.#isChunked = length === 'open' && !isOld;
    const counted = typeof length === 'number' ? `content-length: ${length}\r\n` : '';
    const framing = this.#isChunked ? 'transfer-encoding: chunked\r\n' : counted;
    this.#head = headOf(status, fields, isLast ? `${framing}connection: close\r\n` : framing);
  }

  write(part: Buffer): boolean {
    const head = this.#head;
    if (head === '' || part.length === 0) return writePart(this.#socket, part, this.#isChunked);
    this.#head = '';
    if (!this.#isChunked && part.length <= SMALL_BYTES) {
      // One copy of a short answer costs less than a write of two buffers.
      const both = Buffer.allocUnsafe(head.length + part.length);
      both.write(head, 'latin1');
      both.set(part, head.length);
      return this.#socket.write(both);
    }
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    const isRoom = writePart(this.#socket, part, this.#isChunked);
    this.#socket.uncork();
    return isRoom;
  }

  flush(): void {
    if (this.#head === '') return;
    const head = this.#head;
    this.#head = '';
    this.#socket.write(head, 'latin1');
  }

  end(): void {
    this.flush();
    if (this.#isChunked) writeLast(this.#socket);
  }
}
