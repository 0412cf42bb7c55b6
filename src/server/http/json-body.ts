import type { FastifyInstance } from 'fastify';
import { visit } from 'jsonc-parser';
import { refuseOversized } from './body-bounds.ts';
import { HttpError } from './errors.ts';

/** Ends a visit at the first error. */
class Broken extends Error {
  readonly offset: number;
  constructor(offset: number) {
    super('broken');
    this.offset = offset;
  }
}

/** Returns the offset of the first error in a text that is not JSON (RFC 8259). */
function firstError(text: string): number {
  try {
    visit(
      text,
      {
        onError: (_code, offset) => {
          throw new Broken(offset);
        },
      },
      { disallowComments: true },
    );
    return text.length;
  } catch (error) {
    return error instanceof Broken ? error.offset : text.length;
  }
}

/**
 * Returns the place where a text stops being JSON, without any of the text: it may contain a key.
 * @example whereBroken('{\n"a": x}') // 'line 2, column 6'
 */
export function whereBroken(text: string): string {
  const offset = firstError(text);
  if (offset >= text.trimEnd().length) return 'its end: something is not closed';
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return `line ${line}, column ${offset - before.lastIndexOf('\n')}`;
}

const POISONED = 'the body has a field "__proto__" or "constructor.prototype", which no request may have';
const BYTE_ORDER_MARK = '\uFEFF';

/** Parses JSON bodies within limits, and reports where one is broken. Skips a byte order mark (RFC 8259, section 8.1). */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const sent = String(body);
    const text = sent.startsWith(BYTE_ORDER_MARK) ? sent.slice(1) : sent;
    return parse(request, text, (error, value) => {
      if (!error) return done(refuseOversized(value) ?? null, value);
      if (text.trim() === '') return done(error);
      done(isJson(text) ? new HttpError(400, POISONED) : brokenAt(text));
    });
  });
}

const brokenAt = (text: string): HttpError =>
  new HttpError(400, `the body is not valid JSON; it breaks at ${whereBroken(text)}`);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
