import pMap from 'p-map';
import { isApiError } from '#runtime/wire/api-error.ts';

/** Writes of one LocalService at once: there may be one for each node. */
const AT_ONCE = 16;

export interface Writes {
  /** Writes each item; answers how many were written. Rejects with the first failure that may pass, when all were tried. */
  each<T>(items: readonly T[], write: (item: T) => Promise<unknown>): Promise<number>;
  /** What the API server said of those that it refused. */
  refused: readonly string[];
}

/** Writes of one reconcile, of which none holds up another: what is refused for one node keeps no other from its Service. */
export function eachOnItsOwn(): Writes {
  const refused: string[] = [];
  const passedBy = (error: unknown): number => {
    // A webhook that gives no code denies by a bad request.
    if (isApiError(error, 'Invalid', 'Forbidden', 'BadRequest')) refused.push(error.message);
    // Made, changed or removed by somebody meanwhile: its event wakes the key.
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
