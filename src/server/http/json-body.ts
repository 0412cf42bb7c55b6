import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

/** Whether a text is valid JSON as far as it goes, and ends too early. */
const isCutShort = (text: string): boolean => {
  const message = parseFailure(text);
  if (message === undefined || /end of JSON input|Unterminated/.test(message)) return true;
  const [, position] = /at position (\d+)/.exec(message) ?? [];
  return position !== undefined && Number(position) >= text.length;
};

function parseFailure(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * The place where a text stops being JSON, without any of the text, which may hold a key. Node tells the position of
 * some faults only; the others are found as the shortest beginning that no end could make valid.
 * @example whereBroken('{\n"a": x}') // 'line 2, column 6'
 */
export function whereBroken(text: string): string {
  let [right, wrong] = [0, text.length + 1];
  while (wrong - right > 1) {
    const middle = (right + wrong) >> 1;
    if (isCutShort(text.slice(0, middle))) right = middle;
    else wrong = middle;
  }
  if (right >= text.length) return 'its end: something is not closed';
  const lines = text.slice(0, right).split('\n');
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

const POISONED = 'the body has a field "__proto__" or "constructor.prototype", which no request may have';

/** Parses JSON bodies, and says where one is broken. */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = String(body);
    if (text !== '' && parseFailure(text) !== undefined) {
      return done(new HttpError(400, `the body is not valid JSON; it breaks at ${whereBroken(text)}`));
    }
    return parse(request, text, (error, value) => {
      const isPoisoned = error instanceof Error && text !== '';
      done(isPoisoned ? new HttpError(400, POISONED) : error, value);
    });
  });
}
