import { HttpError } from './errors.ts';

/** Limit of values in a body, fields and entries counted alike: a cluster of 1,000 hosts with labels has some 30,000. */
export const MAX_VALUES = 50_000;
/** Limit of fields in one object: no map of a request has more than some hundreds. */
export const MAX_FIELDS = 1_000;
export const MAX_DEPTH = 32;

/**
 * Returns the refusal (413, or 400 if it is nested too deeply) of a parsed JSON body that is too large to validate. Each
 * wrong value costs a problem, so a body of 1 MiB could block the server for seconds. Walks without recursion.
 */
export function refuseOversized(body: unknown): HttpError | undefined {
  let values = 0;
  const open: { value: object; depth: number }[] = [];
  const take = (value: unknown, depth: number): void => {
    if (typeof value === 'object' && value !== null) open.push({ value, depth });
  };
  take(body, 1);
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (depth > MAX_DEPTH) return new HttpError(400, `the body is nested deeper than ${MAX_DEPTH} levels`);
    const entries: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    values += entries.length;
    if (values > MAX_VALUES) return tooLarge(`more than ${MAX_VALUES} values`);
    if (!Array.isArray(value) && entries.length > MAX_FIELDS)
      return tooLarge(`an object with more than ${MAX_FIELDS} fields`);
    for (const entry of entries) take(entry, depth + 1);
  }
  return undefined;
}

const tooLarge = (what: string): HttpError =>
  new HttpError(413, `the body has ${what}; ask for less at once`);
