import { STATUS_CODES } from 'node:http';
import { isUnsafePath } from '../../routing/paths.ts';
import type { Limits } from '../limits.ts';
import { checkClean, type Fields, type Framing, fieldsOf, framingOf, MessageError, TOKEN } from './fields.ts';

const END = Buffer.from('\r\n\r\n');
const CR = 0x0d;
const LF = 0x0a;

/** Where a head ends, its last empty line included; undefined while it is not all there. Throws MessageError. */
export function endOfHead(bytes: Buffer, { headBytes }: Pick<Limits, 'headBytes'>): number | undefined {
  const at = bytes.indexOf(END);
  if (at !== -1 && at + END.length <= headBytes) return at + END.length;
  if (at !== -1 || bytes.length > headBytes)
    throw new MessageError(431, `the header is longer than ${headBytes} bytes`);
  // Told at once, and not when its time is over: such a head has no end.
  for (let line = bytes.indexOf(LF); line !== -1; line = bytes.indexOf(LF, line + 1))
    if (bytes[line - 1] !== CR) throw new MessageError(400, 'a line does not end with CRLF');
  return undefined;
}

export interface RequestHead {
  method: string;
  /** In origin form, with its query. */
  target: string;
  /** `target` without its query. */
  path: string;
  /** As the client named it, with a port where it gave one; '' of HTTP/1.0 without a host. */
  authority: string;
  version: '1.0' | '1.1' | '2';
  fields: Fields;
  framing: Framing;
}

const AUTHORITY = /^(\[[0-9a-fA-F:.]{2,45}\]|[0-9A-Za-z._~-]{1,255})(:[0-9]{0,5})?$/;
const ABSOLUTE = /^https?:\/\/([^/?]*)(.*)$/i;
const TARGET = /^\/[\x21\x22\x24-\x7e]*$/;

/** What a request asks for, whatever brought it. Throws MessageError. */
export function checkTarget(method: string, target: string): { target: string; path: string } {
  if (!TOKEN.test(method)) throw new MessageError(400, 'the method is no token');
  if (method === 'CONNECT') throw new MessageError(501, 'CONNECT is not served');
  if (target === '*' && method === 'OPTIONS') return { target, path: '/' };
  if (!TARGET.test(target)) throw new MessageError(400, 'the target is no path');
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  if (isUnsafePath(path)) throw new MessageError(400, 'the path has "." or ".." elements, or a backslash');
  return { target, path };
}

export function checkAuthority(authority: string): string {
  if (!AUTHORITY.test(authority)) throw new MessageError(400, 'the host is no name or address');
  return authority;
}

/** The host of an authority, without its port. */
export const withoutPort = (authority: string): string => {
  const colon = authority.lastIndexOf(':');
  return colon === -1 || authority.endsWith(']') ? authority : authority.slice(0, colon);
};

/** Parses what endOfHead has found the end of. Throws MessageError. Source: RFC 9112, 3. */
export function requestHead(bytes: Buffer, end: number, limits: Pick<Limits, 'headerCount'>): RequestHead {
  // One empty line before a request is passed over: old clients sent one after a body.
  const start = bytes[0] === CR && bytes[1] === LF ? 2 : 0;
  const text = bytes.toString('latin1', start, end - END.length);
  checkClean(text);
  const lines = text.split('\r\n');
  const [method = '', asked = '', version = '', ...more] = (lines[0] ?? '').split(' ');
  if (more.length > 0 || !/^HTTP\/[0-9]\.[0-9]$/.test(version))
    throw new MessageError(400, 'the first line is no request line');
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0')
    throw new MessageError(505, 'neither HTTP/1.1 nor HTTP/1.0');
  const fields = fieldsOf(lines, 1, limits.headerCount);
  const isOld = version === 'HTTP/1.0';
  const framing = framingOf(fields, isOld);
  let authority: string | undefined;
  for (let at = 0; at < fields.length; at += 2) {
    if (fields[at] !== 'host') continue;
    if (authority !== undefined) throw new MessageError(400, 'the host is told twice');
    authority = fields[at + 1] ?? '';
  }
  if (authority === undefined && !isOld) throw new MessageError(400, 'the host is missing');
  let target = asked;
  if (!asked.startsWith('/')) {
    const [, named, rest = ''] = ABSOLUTE.exec(asked) ?? [];
    if (named !== undefined) {
      authority = named;
      target = rest.startsWith('/') ? rest : `/${rest}`;
    }
  }
  if (authority !== undefined && authority !== '') checkAuthority(authority);
  return {
    method,
    ...checkTarget(method, target),
    authority: authority ?? '',
    version: isOld ? '1.0' : '1.1',
    fields,
    framing,
  };
}

export interface ResponseHead {
  status: number;
  fields: Fields;
  framing: Framing;
  isOldVersion: boolean;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: .*)?$/;

/** The head of an answer of a backend. Throws MessageError, whose status is for requests and means nothing here. */
export function responseHead(bytes: Buffer, end: number, limits: Pick<Limits, 'headerCount'>): ResponseHead {
  const text = bytes.toString('latin1', 0, end - END.length);
  checkClean(text);
  const lines = text.split('\r\n');
  const [, minor, status] = STATUS_LINE.exec(lines[0] ?? '') ?? [];
  if (status === undefined) throw new MessageError(400, 'the first line is no status line');
  const fields = fieldsOf(lines, 1, limits.headerCount);
  const isOldVersion = minor === '0';
  return { status: Number(status), fields, framing: framingOf(fields, isOldVersion), isOldVersion };
}

/** The head of an answer as a client gets it; `more` are lines of its own. */
export function headOf(status: number, fields: Fields, more: string): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let at = 0; at < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${head}${more}\r\n`;
}
