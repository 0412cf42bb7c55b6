import pMap from 'p-map';
import { isApiError } from '#runtime/wire/api-error.ts';

/** Concurrent writes of one LocalService, which may need one for each node. */
const AT_ONCE = 16;

export interface Writes {
  /** Writes each item; returns the number of successful writes. Tries all, then rejects with the first transient failure. */
  each<T>(items: readonly T[], write: (item: T) => Promise<unknown>): Promise<number>;
  /** Messages of the API server about refused writes. */
  refused: readonly string[];
}

/** Returns writes that do not block each other: a refusal for one node leaves other nodes their Services. */
export function eachOnItsOwn(): Writes {
  const refused: string[] = [];
  const passedBy = (error: unknown): number => {
    // A webhook that gives no code denies with BadRequest.
    if (isApiError(error, 'Invalid', 'Forbidden', 'BadRequest')) refused.push(error.message);
    // Another client created, changed or deleted it meanwhile. That event triggers a reconcile.
    else if (!isApiError(error, 'AlreadyExists', 'NotFound', 'Conflict')) throw error;
    return 0;
  };
  return {
    refused,
    async each(items, write) {
      const how = { concurrency: AT_ONCE, stopOnError: false };
      const wrote = await pMap(items, (item) => write(item).then(() => 1, passedBy), how).catch(
        (error: unknown) => {
          throw error instanceof AggregateError ? error.errors[0] : error;
        },
      );
      return wrote.reduce((sum, one) => sum + one, 0);
    },
  };
}
