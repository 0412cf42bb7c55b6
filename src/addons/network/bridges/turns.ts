/** Runs work on the same thing one at a time, and work on several things concurrently. */
export interface Turns {
  of<T>(thing: string, work: () => Promise<T>): Promise<T>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    of(thing, work) {
      const turn = (last.get(thing) ?? Promise.resolve()).then(work);
      const ended = turn.then(
        () => {},
        () => {},
      );
      last.set(thing, ended);
      void ended.then(() => {
        if (last.get(thing) === ended) last.delete(thing);
      });
      return turn;
    },
  };
}
