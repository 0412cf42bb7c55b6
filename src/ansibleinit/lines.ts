import { orAborted } from '#base/abort.ts';

/** Yields lines until the input ends or `over` aborts: a stuck child process may keep the pipe open. */
export async function* linesUntil(lines: AsyncIterable<string>, over: AbortSignal): AsyncGenerator<string> {
  const iterator = lines[Symbol.asyncIterator]();
  try {
    for (;;) {
      // A later rejection is irrelevant then.
      const next = iterator.next();
      next.catch(() => {});
      const got = await orAborted(next, over).catch((error: unknown) => {
        if (over.aborted) return undefined;
        throw error;
      });
      if (got === undefined || got.done) return;
      yield got.value;
    }
  } finally {
    // Waits for the process, unless it is given up.
    if (!over.aborted) await iterator.return?.();
  }
}
