/** Event as a client reads it. */
export interface ReadEvent {
  event: string;
  id: string | undefined;
  data: unknown;
}

/** Reads server-sent events one after the other: for tests. */
export interface EventReader {
  status: number;
  /** Returns the next event; undefined at the end of the stream. */
  next(): Promise<ReadEvent | undefined>;
  /** Returns all events up to and including the first one that `isLast` accepts. */
  until(isLast: (event: ReadEvent) => boolean): Promise<ReadEvent[]>;
  close(): void;
}

const field = (block: string, name: string): string | undefined =>
  block
    .split('\n')
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2);

/** Opens a stream of events with a token, and after the event with the id `last`. */
export async function readEvents(url: string, token: string, last?: string): Promise<EventReader> {
  const abort = new AbortController();
  const answer = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, ...(last === undefined ? {} : { 'last-event-id': last }) },
    signal: abort.signal,
  });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  async function next(): Promise<ReadEvent | undefined> {
    for (;;) {
      const end = rest.indexOf('\n\n');
      if (end === -1) {
        const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
        if (done) return undefined;
        rest += value;
        continue;
      }
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const event = field(block, 'event');
      // A comment keeps the connection alive.
      if (event === undefined) continue;
      return { event, id: field(block, 'id'), data: JSON.parse(field(block, 'data') ?? 'null') };
    }
  }
  return {
    status: answer.status,
    next,
    async until(isLast) {
      const found: ReadEvent[] = [];
      for (let event = await next(); event; event = await next()) {
        found.push(event);
        if (isLast(event)) return found;
      }
      throw new Error(`the stream has ended after ${JSON.stringify(found)}`);
    },
    close: () => abort.abort(),
  };
}
