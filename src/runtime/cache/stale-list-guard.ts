import { ApiError } from '../wire/api-error.ts';
import { compareVersions } from './resource-version.ts';

/** Keeps a server that lags behind the others from taking a cache back in time. */
export interface StaleListGuard {
  /** Records that the cache has seen that version. */
  seen(version: string): void;
  /** Checks the version of a list before it enters the cache. Throws if the list must be repeated first. */
  list(version: string): void;
}

/** Number of refusals of an older list; the third one is accepted. */
const TIMES_DOUBTED = 2;

/**
 * Guards against a list that is older than versions already seen. If a server lags, a repeated list is newer. If etcd was
 * restored, a repeated list is just as old, and is then accepted as the present state.
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
