/** Why a message is not taken; `status` is what its sender is told. */
export class MessageError extends Error {
  override name = 'MessageError';
  readonly status: 400 | 408 | 413 | 417 | 431 | 501 | 505;
  constructor(status: MessageError['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/** Names in lower case and values, in turn. */
export type Fields = string[];

/** A field name, or a method. Source: RFC 9110, 5.6.2. */
export const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Neither a control character nor a line end that a receiver may see where another sees none. */
const UNCLEAN = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
/** What a value may not have, however it came. */
export const UNCLEAN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** Throws MessageError where bytes of a head are no text of HTTP/1.1. */
export function checkClean(text: string): void {
  if (UNCLEAN.test(text))
    throw new MessageError(400, 'control characters, or a line that does not end with CRLF');
}

/**
 * The fields of lines from `first` on. Throws MessageError: what one reader takes for a field and another for none is
 * how requests are smuggled, so nothing is mended here. Source: RFC 9112, 5.
 */
export function fieldsOf(lines: readonly string[], first: number, maxCount: number): Fields {
  if (lines.length - first > maxCount) throw new MessageError(431, `more than ${maxCount} header fields`);
  const fields: Fields = [];
  for (let at = first; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0));
    // A space before the colon, or at the start of a folded line, is no part of a token.
    if (!TOKEN.test(name)) throw new MessageError(400, 'a line of the header is no "name: value"');
    fields.push(name.toLowerCase(), trimmed(line, colon + 1));
  }
  return fields;
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;

function trimmed(line: string, from: number): string {
  // By index: an expression for spaces at the end takes time by the square of those in the middle.
  let [start, end] = [from, line.length];
  while (start < end && isSpace(line.charCodeAt(start))) start += 1;
  while (end > start && isSpace(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

/** The elements of a list, in lower case. */
export const listed = (value: string): string[] =>
  value
    .toLowerCase()
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** How long a body is: in bytes, or until its own end. */
export type Length = number | 'chunked' | undefined;

/** What the fields say of the connection that they came over, apart from what goes on to the other end. */
export interface Framing {
  length: Length;
  /** Elements of `connection`. */
  connection: readonly string[];
  upgrade: string | undefined;
}

const DIGITS = /^[0-9]{1,15}$/;
const NOTHING: readonly string[] = [];

/** Throws MessageError where the length is told twice, or in a way that others may read otherwise. RFC 9112, 6. */
export function framingOf(fields: Fields, isOldVersion: boolean): Framing {
  let length: Length;
  let connection = NOTHING;
  let upgrade: string | undefined;
  for (let at = 0; at < fields.length; at += 2) {
    const value = fields[at + 1] ?? '';
    switch (fields[at]) {
      case 'content-length':
        if (length !== undefined) throw new MessageError(400, 'the length of the body is told twice');
        if (!DIGITS.test(value)) throw new MessageError(400, 'content-length is no number');
        length = Number(value);
        break;
      case 'transfer-encoding':
        if (length !== undefined) throw new MessageError(400, 'the length of the body is told twice');
        if (isOldVersion || value.toLowerCase() !== 'chunked')
          throw new MessageError(400, 'transfer-encoding is not "chunked", or HTTP/1.0 has none');
        length = 'chunked';
        break;
      case 'connection':
        connection = connection.concat(listed(value));
        break;
      case 'upgrade':
        upgrade = upgrade === undefined ? value : `${upgrade}, ${value}`;
        break;
    }
  }
  return { length, connection, upgrade };
}

/** Of one connection, and never passed on; lengths are written anew. */
const OF_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'content-length',
  'upgrade',
  'http2-settings',
]);

/** Whether a field goes on to the other end. */
export const goesOn = (name: string, connection: readonly string[]): boolean =>
  !OF_CONNECTION.has(name) && (connection.length === 0 || !connection.includes(name));
