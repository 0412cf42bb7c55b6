/** Lets a bounded number of calls run at once; the others wait in order. */
export interface Gate {
  pass<T>(work: () => Promise<T>): Promise<T>;
}

export function gate(atOnce: number): Gate {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return {
    async pass(work) {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        // The next call gets the place, or it becomes free.
        const next = waiting.shift();
        if (next) next();
        else free++;
      }
    },
  };
}
