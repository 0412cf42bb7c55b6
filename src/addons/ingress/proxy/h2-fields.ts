import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { type Fields, goesOn, MessageError, TOKEN, UNCLEAN_VALUE } from './http1/fields.ts';

/** Fields of HTTP/2 without those that begin with a colon. Throws MessageError where HTTP/1.1 could not carry one. */
export function fieldsFrom(headers: IncomingHttpHeaders): Fields {
  const fields: Fields = [];
  for (const [name, given] of Object.entries(headers)) {
    if (name.startsWith(':') || given === undefined) continue;
    if (!TOKEN.test(name)) throw new MessageError(400, 'a header field has no proper name');
    for (const value of Array.isArray(given) ? given : [given]) {
      if (UNCLEAN_VALUE.test(value)) throw new MessageError(400, `field ${name} has control characters`);
      fields.push(name, value);
    }
  }
  return fields;
}

/** Of a trailer, those that go on to the other end. Throws MessageError as fieldsFrom does. */
export function trailerFrom(headers: IncomingHttpHeaders): Fields {
  const fields = fieldsFrom(headers);
  const kept: Fields = [];
  for (let at = 0; at < fields.length; at += 2) {
    const [name = '', value = ''] = [fields[at], fields[at + 1]];
    if (goesOn(name, [])) kept.push(name, value);
  }
  return kept;
}

/** Fields as node:http2 takes them. */
export function headersOf(fields: Fields): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let at = 0; at < fields.length; at += 2) {
    const [name = '', value = ''] = [fields[at], fields[at + 1]];
    const there = headers[name];
    headers[name] = there === undefined ? value : [...(Array.isArray(there) ? there : [there]), value];
  }
  return headers;
}
