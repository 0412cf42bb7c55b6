import { ApiError } from '../wire/api-error.ts';
import { compareVersions } from './resource-version.ts';

/** Keeps a cache from being led back in time by one server that lags behind the others. */
export interface StaleListGuard {
  /** The cache has seen that version. */
  seen(version: string): void;
  /** A list of that version wants into the cache. Throws where it should be asked for again first. */
  list(version: string): void;
}

/** An older list is believed when it comes for the third time. */
const TIMES_DOUBTED = 2;

/**
 * A list older than what was seen already comes from a server that lags, or from an etcd that was restored. The
 * first passes when the list is asked for again, the second does not: then it is what there is.
 */
export function createStaleListGuard(): StaleListGuard {
  let newest: string | undefined;
  let doubted = 0;
  return {
    seen(version) {
      newest = version;
    },
    list(version) {
      const order = newest === undefined ? undefined : compareVersions(version, newest);
      if (order !== undefined && order < 0 && doubted < TIMES_DOUBTED) {
        doubted += 1;
        throw new ApiError(
          'Unknown',
          `the list is as of version ${version}, older than ${newest} that was seen before: asking again`,
          { status: 200 },
        );
      }
      doubted = 0;
      newest = version;
    },
  };
}
