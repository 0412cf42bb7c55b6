import { createHash } from 'node:crypto';

/**
 * Encodes JSON with sorted keys and without `undefined`, so that equal values have equal text (in the spirit of RFC 8785).
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : item,
  );
}

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns `length` characters of a SHA-256, in an alphabet that is safe in names and makes no words (as in client-go). */
export function shortHash(text: string, length = 10): string {
  const digest = createHash('sha256').update(text).digest();
  return Array.from(digest.subarray(0, length), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/** Whether a text has the form of such a hash. */
export const isShortHash = (text: string, length = 10): boolean =>
  text.length === length && [...text].every((character) => ALPHABET.includes(character));

/** Returns the SHA-256 of a text, in hexadecimal. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whether a text has the form of such a sum. */
export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);
