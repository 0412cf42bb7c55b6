import { StringDecoder } from 'node:string_decoder';
import { setImmediate } from 'node:timers/promises';
import { ApiError } from './api-error.ts';

/** The value of a JSON answer, undefined of an empty one; throws ApiError Unknown, with its beginning, where it is none. */
export function parseAnswer(text: string, status: number, what: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    const snippet = text.replace(/\s+/g, ' ').slice(0, 80);
    throw new ApiError('Unknown', `${what}: the answer is no JSON: ${snippet}`, { status, cause: error });
  }
}

/** Characters of a list that are parsed at once, at least; after them the event loop breathes. */
const PIECE = 64 * 1024;
/** How API servers begin a list, up to its items, and how the first of these begins. */
const HEAD = /^(\{(?:"(?:kind|apiVersion)":"[^"\\]*",|"metadata":\{[^[\]{}]*\},)*"items":\[)(\{"[^"\\]*":)/;

/**
 * The same of a list, whose items are parsed in pieces as they come: while the server makes the rest, and with no
 * turn of the event loop that has all of them to parse. A piece ends where an item seems to begin as the first one
 * did. Was that within an item, then the piece is no JSON, and a longer one is tried. Answers of another look are
 * parsed whole.
 */
export async function parseListAnswer(
  body: AsyncIterable<Buffer>,
  status: number,
  what: string,
): Promise<unknown> {
  const decoder = new StringDecoder('utf8');
  const items: unknown[] = [];
  let text = '';
  let head: string | undefined;
  let border = '';
  let enough = PIECE;
  for await (const chunk of body) {
    text += decoder.write(chunk);
    if (text.length < enough) continue;
    if (head === undefined) {
      const [, start = '', begin = ''] = HEAD.exec(text) ?? [];
      head = start;
      border = `},${begin}`;
      text = text.slice(head.length);
    }
    const end = head === '' ? -1 : text.lastIndexOf(border) + 1;
    const piece = end > 0 ? arrayOf(text.slice(0, end)) : undefined;
    if (!piece) {
      enough = text.length * 2;
      continue;
    }
    for (const item of piece) items.push(item);
    text = text.slice(end + 1);
    enough = PIECE;
    await setImmediate();
  }
  const last = parseAnswer((head ?? '') + text + decoder.end(), status, what);
  if (!isList(last)) return last;
  for (const item of last.items) items.push(item);
  return { ...last, items };
}

function arrayOf(text: string): unknown[] | undefined {
  try {
    return JSON.parse(`[${text}]`);
  } catch {
    return undefined;
  }
}

function isList(value: unknown): value is { items: unknown[] } {
  return typeof value === 'object' && value !== null && 'items' in value && Array.isArray(value.items);
}
