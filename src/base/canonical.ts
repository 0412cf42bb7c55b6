import { createHash } from 'node:crypto';

/** JSON with keys in order and `undefined` left out, so that equal values have equal text (RFC 8785 in spirit). */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : item,
  );
}

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** `length` characters of a SHA-256, from an alphabet that is safe in names and makes no words (as in client-go). */
export function shortHash(text: string, length = 10): string {
  const digest = createHash('sha256').update(text).digest();
  return Array.from(digest.subarray(0, length), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/** Whether a text can be such a hash. */
export const isShortHash = (text: string, length = 10): boolean =>
  text.length === length && [...text].every((character) => ALPHABET.includes(character));

/** SHA-256 of a text, in hexadecimal. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whether a text can be such a sum. */
export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);
