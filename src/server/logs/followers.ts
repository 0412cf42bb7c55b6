import { HttpError } from '../http/errors.ts';

/** Of one user, on one replica: a person watches a few clusters. */
const MOST_OF_ONE = 8;
/** Of all users, on one replica: each holds a connection and a part of a log. */
const MOST_OF_ALL = 128;

/** Who follows logs now. */
export interface Followers {
  /** Counts one in; the answer counts him out, once. Throws HttpError 429 when there are too many. */
  enter(username: string): () => void;
}

export function createFollowers(): Followers {
  const following = new Map<string, number>();
  let all = 0;
  return {
    enter(username) {
      const own = following.get(username) ?? 0;
      if (own >= MOST_OF_ONE) {
        throw new HttpError(
          429,
          `you follow ${own} logs, which is the limit of one user; end one, then try again`,
        );
      }
      if (all >= MOST_OF_ALL) throw new HttpError(429, 'too many logs are followed now; try again later');
      following.set(username, own + 1);
      all += 1;
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        all -= 1;
        const left = (following.get(username) ?? 1) - 1;
        if (left === 0) following.delete(username);
        else following.set(username, left);
      };
    },
  };
}
