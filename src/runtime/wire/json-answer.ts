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
/**
 * How API servers begin a list whose metadata is flat: all up to its items, and how the first of these begins. Both
 * stand as apimachinery's serializer/json/collections.go writes them. An item's own kind is taken in, for an object
 * within one (an owner, an entry of managedFields) may well begin with an apiVersion.
 */
const HEAD =
  /^(\{(?:"(?:kind|apiVersion)":"[^"\\]*",|"metadata":\{[^[\]{}]*\},)*"items":\[)(\{(?:"(?:kind|apiVersion)":"[^"\\]*",)*"[^"\\]*":)/;

/**
 * The value of a list as `parseAnswer` would give it, its items parsed in pieces as they come: while the server makes
 * the rest, and with no long turn of the event loop. A piece ends where the next item seems to begin as the first one
 * did. Were that within an item, or within a string, something would be left open, and the piece be no JSON: what
 * parses ends between two items. What does not is tried again at twice the length. An answer that does not begin as
 * lists do (another object, a list in an unusual order) is parsed whole.
 */
export async function parseListAnswer(
  body: AsyncIterable<Buffer>,
  status: number,
  what: string,
): Promise<unknown> {
  const decoder = new StringDecoder('utf8');
  const items: unknown[] = [];
  let text = '';
  let tryAt = PIECE;
  /** Of the list, once there was enough of it; without a border it is parsed whole. */
  let look: { listStart: string; border: string | undefined } | undefined;
  for await (const chunk of body) {
    text += decoder.write(chunk);
    if (text.length < tryAt) continue;
    if (!look) {
      const [, listStart = '', itemStart] = HEAD.exec(text) ?? [];
      look = { listStart, border: itemStart && `},${itemStart}` };
      text = text.slice(listStart.length);
    }
    const end = look.border ? text.lastIndexOf(look.border) + 1 : 0;
    const piece = end > 0 ? arrayOf(text.slice(0, end)) : undefined;
    if (!piece) {
      tryAt = text.length * 2;
      continue;
    }
    for (const item of piece) items.push(item);
    text = text.slice(end + 1);
    tryAt = PIECE;
    await setImmediate();
  }
  const where = items.length > 0 ? `${what}, after ${items.length} items` : what;
  const rest = parseAnswer((look?.listStart ?? '') + text + decoder.end(), status, where);
  if (!isList(rest)) return rest;
  for (const item of rest.items) items.push(item);
  return { ...rest, items };
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
