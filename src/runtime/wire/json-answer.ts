import { StringDecoder } from 'node:string_decoder';
import { setImmediate } from 'node:timers/promises';
import { ApiError } from './api-error.ts';

/**
 * Parses a JSON answer; returns undefined for an empty one. Throws ApiError Unknown, with its beginning, if it is no JSON.
 */
export function parseAnswer(text: string, status: number, what: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    const snippet = text.replace(/\s+/g, ' ').slice(0, 80);
    throw new ApiError('Unknown', `${what}: the answer is no JSON: ${snippet}`, { status, cause: error });
  }
}

/** Minimum number of characters of a list that are parsed at once; then the event loop gets a turn. */
const PIECE = 64 * 1024;
/**
 * Beginning of a list with flat metadata: all up to its items, and the beginning of the first item. API servers write both
 * as in apimachinery's serializer/json/collections.go. The match includes an item's kind, because an object within an item
 * (an owner, an entry of managedFields) may also begin with an apiVersion.
 */
const HEAD =
  /^(\{(?:"(?:kind|apiVersion)":"[^"\\]*",|"metadata":\{[^[\]{}]*\},)*"items":\[)(\{(?:"(?:kind|apiVersion)":"[^"\\]*",)*"[^"\\]*":)/;

/**
 * Parses a list like `parseAnswer`, but its items in pieces as they arrive: while the server prepares the rest, and without
 * a long turn of the event loop. A piece ends where text resembles the beginning of the first item. If that is within an
 * item, or within a string, the piece is no valid JSON; so a piece that parses ends between two items. A piece that does not
 * is tried again at twice the length. An answer that does not begin like a list (another object, a list in an unusual order)
 * is parsed whole.
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
  /** Beginning of the list, once enough of it arrived; without a border it is parsed whole. */
  let shape: { listStart: string; border: string | undefined } | undefined;
  for await (const chunk of body) {
    text += decoder.write(chunk);
    if (text.length < tryAt) continue;
    if (!shape) {
      const [, listStart = '', itemStart] = HEAD.exec(text) ?? [];
      shape = { listStart, border: itemStart && `},${itemStart}` };
      text = text.slice(listStart.length);
    }
    const end = shape.border ? text.lastIndexOf(shape.border) + 1 : 0;
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
  const rest = parseAnswer((shape?.listStart ?? '') + text + decoder.end(), status, where);
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
