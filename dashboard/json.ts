/** JSON of a shape that is not known. */

export type Json = Readonly<Record<string, unknown>>;

/** Whether a value is an object of JSON, not a list. */
export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a field of an object; `undefined` of anything else. */
export const at = (value: unknown, key: string): unknown => (isRecord(value) ? value[key] : undefined);
