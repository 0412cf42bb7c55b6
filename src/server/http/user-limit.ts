import { HttpError } from './errors.ts';

/** Limits what users do at once, each and all together, on one replica. */
export interface UserLimit {
  /** Counts a user in; the returned function counts the user out, once. Throws HttpError 429 if there are too many. */
  enter(username: string): () => void;
}

/**
 * Returns a limit by user and of all users.
 * @param tooMany Returns the message: with the user's own number, or undefined for the limit of all users.
 */
function limitByUser({
  ofOne,
  ofAll,
  tooMany,
}: {
  ofOne: number;
  ofAll: number;
  tooMany: (own: number | undefined) => string;
}): UserLimit {
  const inside = new Map<string, number>();
  let all = 0;
  return {
    enter(username) {
      const own = inside.get(username) ?? 0;
      if (own >= ofOne) throw new HttpError(429, tooMany(own));
      if (all >= ofAll) throw new HttpError(429, tooMany(undefined));
      inside.set(username, own + 1);
      all += 1;
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        all -= 1;
        const left = (inside.get(username) ?? 1) - 1;
        if (left === 0) inside.delete(username);
        else inside.set(username, left);
      };
    },
  };
}

/** Limits followed logs: each holds a connection and a part of a log, and a user follows few clusters. */
export const followLimit = (): UserLimit =>
  limitByUser({
    ofOne: 8,
    ofAll: 128,
    tooMany: (own) =>
      own === undefined
        ? 'too many logs are followed now; try again later'
        : `you follow ${own} logs, which is the limit of one user; end one, then try again`,
  });

/** Limits streams of events: each holds a connection, and one to the Kubernetes API. */
export const streamLimit = (): UserLimit =>
  limitByUser({
    ofOne: 16,
    ofAll: 256,
    tooMany: (own) =>
      own === undefined
        ? 'too many streams of events are open now; try again later'
        : `you have ${own} open streams of events, which is the limit of one user; close one, then try again`,
  });

/** Limits reads of the ends of logs: each takes some MiB of memory for a moment. */
export const logLimit = (): UserLimit =>
  limitByUser({
    ofOne: 4,
    ofAll: 32,
    tooMany: (own) =>
      own === undefined
        ? 'too many logs are read now; try again later'
        : `you read ${own} logs at once, which is the limit of one user; try again when one has come`,
  });

/** Limits requests of all kinds: some look up each host of a cluster. */
export const requestLimit = (): UserLimit =>
  limitByUser({
    ofOne: 64,
    ofAll: 1024,
    tooMany: (own) =>
      own === undefined
        ? 'too many requests are under way now; try again later'
        : `${own} requests of yours are under way, which is the limit of one user; try again when one has ended`,
  });
