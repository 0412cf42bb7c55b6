import { orAborted } from '#base/abort.ts';

/** Lines as they come, until there are no more or `over` aborts: a process that nobody awaits may keep their way open. */
export async function* linesUntil(lines: AsyncIterable<string>, over: AbortSignal): AsyncGenerator<string> {
  const iterator = lines[Symbol.asyncIterator]();
  try {
    for (;;) {
      // Whatever it rejects with later is of no interest then.
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
    // Awaits the process, where it is not given up.
    if (!over.aborted) await iterator.return?.();
  }
}
