import { fieldsOf, type Length, MessageError } from './fields.ts';

/** Takes the bytes of one body off a connection. */
export interface BodyReader {
  /**
   * Hands each part of the body in `bytes` to `each`, and answers how many bytes were the body's: fewer than there are
   * once it has ended. Throws MessageError.
   */
  read(bytes: Buffer, each: (part: Buffer) => void): number;
  readonly isDone: boolean;
}

class CountedBody implements BodyReader {
  #left: number;
  constructor(length: number) {
    this.#left = length;
  }
  get isDone(): boolean {
    return this.#left === 0;
  }
  read(bytes: Buffer, each: (part: Buffer) => void): number {
    const count = Math.min(this.#left, bytes.length);
    this.#left -= count;
    if (count > 0) each(count === bytes.length ? bytes : bytes.subarray(0, count));
    return count;
  }
}

/** Ends with its connection. */
class OpenBody implements BodyReader {
  readonly isDone = false;
  read(bytes: Buffer, each: (part: Buffer) => void): number {
    each(bytes);
    return bytes.length;
  }
}

const SIZE = /^[0-9a-fA-F]{1,8}$/;
/** As in a size, with what a backend may say behind it. */
const SIZE_LINE_BYTES = 256;
const TRAILER_BYTES = 8_192;
const TRAILER_COUNT = 50;
const CR = 0x0d;
const LF = 0x0a;

/** Source: RFC 9112, 7.1. */
class ChunkedBody implements BodyReader {
  isDone = false;
  #state: 'size' | 'data' | 'end' | 'trailer' = 'size';
  #left = 0;
  /** Of a line that is not all there yet. */
  #line = '';
  #trailer: string[] = [];
  #trailerBytes = 0;
  readonly #extensions: boolean;
  /** `extensions`: passed over; otherwise refused, since nobody sends any but who wants to be read in two ways. */
  constructor(extensions: boolean) {
    this.#extensions = extensions;
  }

  read(bytes: Buffer, each: (part: Buffer) => void): number {
    let at = 0;
    while (at < bytes.length && !this.isDone) {
      if (this.#state === 'data') {
        const count = Math.min(this.#left, bytes.length - at);
        each(bytes.subarray(at, at + count));
        at += count;
        this.#left -= count;
        if (this.#left === 0) this.#state = 'end';
        continue;
      }
      const lineEnd = bytes.indexOf(LF, at);
      const until = lineEnd === -1 ? bytes.length : lineEnd + 1;
      this.#line += bytes.toString('latin1', at, until);
      at = until;
      const most = this.#state === 'trailer' ? TRAILER_BYTES : SIZE_LINE_BYTES;
      if (this.#line.length > most) throw new MessageError(400, 'a line of a chunked body is too long');
      if (lineEnd === -1) {
        if (this.#state === 'end' && this.#line.charCodeAt(0) !== CR) throw wrongChunk();
        break;
      }
      const line = this.#line;
      this.#line = '';
      if (!line.endsWith('\r\n') || line.indexOf('\r') !== line.length - 2) throw wrongChunk();
      this.#take(line.slice(0, -2));
    }
    return at;
  }

  #take(line: string): void {
    if (this.#state === 'end') {
      if (line !== '') throw wrongChunk();
      this.#state = 'size';
    } else if (this.#state === 'size') {
      const [size = '', ...extensions] = this.#extensions ? line.split(';') : [line];
      if (!SIZE.test(extensions.length > 0 ? size.trimEnd() : size)) throw wrongChunk();
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? 'trailer' : 'data';
    } else if (line === '') {
      // Of HTTP/1.1 none goes on: whoever merged them into the header could be told anything.
      fieldsOf(this.#trailer, 0, TRAILER_COUNT);
      this.isDone = true;
    } else {
      this.#trailerBytes += line.length;
      if (this.#trailerBytes > TRAILER_BYTES) throw new MessageError(431, 'the trailer is too long');
      this.#trailer.push(line);
    }
  }
}

const wrongChunk = (): MessageError =>
  new MessageError(400, 'a chunk has no proper size, or does not end with it');

/** A reader of the body that a message's fields announce; `none` for a request whose length is not told. */
export function requestBody(length: Length): BodyReader {
  return length === 'chunked' ? new ChunkedBody(false) : new CountedBody(length ?? 0);
}

/** Of an answer; where no length is told it ends with its connection. */
export function responseBody(length: Length): BodyReader {
  if (length === undefined) return new OpenBody();
  return length === 'chunked' ? new ChunkedBody(true) : new CountedBody(length);
}

const LAST = Buffer.from('0\r\n\r\n');
const CRLF = Buffer.from('\r\n');

interface Written {
  cork(): void;
  uncork(): void;
  write(bytes: Buffer | string, encoding?: BufferEncoding): boolean;
}
/** Writes a part of a body as it was announced; false: the other end has enough for now. */
export function writePart(to: Written, part: Buffer, isChunked: boolean): boolean {
  // A chunk of no bytes would be the last one.
  if (part.length === 0) return true;
  if (!isChunked) return to.write(part);
  to.cork();
  to.write(`${part.length.toString(16)}\r\n`, 'latin1');
  to.write(part);
  const isRoom = to.write(CRLF);
  to.uncork();
  return isRoom;
}
export const writeLast = (to: Written): void => void to.write(LAST);
