import { createParser } from 'eventsource-parser';
import { isRecord } from './json.ts';

/** Calls of the REST API from the page. */

const BASE = '/api/v1';
const TOKEN = 'matryoshka-token';
const RETRY_MS = [500, 1_000, 2_000, 5_000] as const;

export interface FieldProblem {
  field: string;
  value?: unknown;
  reason: string;
}

/** Returns a problem as a sentence: field, value if it is a text that the reason does not name, and reason. */
export const problemText = ({ field, value, reason }: FieldProblem): string =>
  [field, typeof value === 'string' && !reason.split(/[\s,;:]+/).includes(value) ? value : '', reason]
    .filter(Boolean)
    .join(' ');

/** An answer with an error status. */
export class Refused extends Error {
  override name = 'Refused';
  readonly status: number;
  readonly problems: readonly FieldProblem[];

  constructor(status: number, message: string, problems: readonly FieldProblem[] = []) {
    super(message);
    this.status = status;
    this.problems = problems;
  }
}

/** The token of this tab. It is gone when the tab is closed. */
export const session = {
  get token(): string | null {
    return sessionStorage.getItem(TOKEN);
  },
  set token(token: string | null) {
    if (token === null) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, token);
  },
};

const isProblem = (value: unknown): value is FieldProblem =>
  isRecord(value) && typeof value['field'] === 'string' && typeof value['reason'] === 'string';

async function refusalOf(answer: Response): Promise<Refused> {
  const text = await answer.text();
  try {
    const body: unknown = JSON.parse(text);
    if (isRecord(body)) {
      const problems = Array.isArray(body['errors']) ? body['errors'].filter(isProblem) : [];
      return new Refused(answer.status, String(body['message'] ?? answer.statusText), problems);
    }
  } catch {
    // A proxy before the server may answer in its own words.
  }
  return new Refused(answer.status, `the server answers ${answer.status} ${answer.statusText}`);
}

const headersFor = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  authorization: `Bearer ${session.token ?? ''}`,
  ...more,
});

export type Query = Readonly<Record<string, string | undefined>>;

const urlOf = (path: string, query: Query = {}): string => {
  const given = Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
  const search = new URLSearchParams(given).toString();
  return `${BASE}${path}${search === '' ? '' : `?${search}`}`;
};

/** Calls a route, and returns what it answers: JSON, or text. Rejects with Refused, or with the error of the network. */
export async function call(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  { query, body, signal }: { query?: Query; body?: unknown; signal?: AbortSignal } = {},
): Promise<unknown> {
  const answer = await fetch(urlOf(path, query), {
    method,
    headers: headersFor(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  if (!answer.ok) throw await refusalOf(answer);
  const isJson = answer.headers.get('content-type')?.includes('json');
  return isJson ? answer.json() : answer.text();
}

export interface StreamEvent {
  event: string;
  data: unknown;
}

/** State of a stream: it is read, it is interrupted and connects again, or it has ended. */
export type StreamState = 'live' | 'interrupted' | 'ended';

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Waits until the page is in sight. */
const inSight = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });

/** Returns a signal that aborts when the page is hidden: browsers open six connections to a server, for all tabs together. */
function whileInSight(signal: AbortSignal): { reading: AbortSignal; stop: () => void } {
  const hidden = new AbortController();
  const look = (): void => {
    if (document.hidden) hidden.abort();
  };
  document.addEventListener('visibilitychange', look);
  return {
    reading: AbortSignal.any([signal, hidden.signal]),
    stop: () => document.removeEventListener('visibilitychange', look),
  };
}

/**
 * Follows server-sent events until `signal` aborts, or an event `end` comes. A stream that breaks off is continued after its
 * last event, without a gap or a repeat. Event `reset` says that everything comes once more. Rejects with Refused if the
 * server refuses. A hidden page does not read; it continues when it is shown.
 */
export async function follow(
  path: string,
  query: Query,
  onEvent: (event: StreamEvent) => void,
  onState: (state: StreamState) => void,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined;
  let tries = 0;
  let hasEnded = false;
  let isFirst = true;
  while (!signal.aborted && !hasEnded) {
    await inSight(signal);
    const { reading, stop } = whileInSight(signal);
    try {
      const answer = await fetch(urlOf(path, query), {
        headers: headersFor(last === undefined ? {} : { 'last-event-id': last }),
        signal: reading,
      });
      if (!answer.ok) throw await refusalOf(answer);
      onState('live');
      if (!isFirst && last === undefined) onEvent({ event: 'reset', data: {} });
      isFirst = false;
      const parser = createParser({
        onEvent({ event = 'message', data, id }) {
          if (id !== undefined) {
            tries = 0;
            last = id;
          }
          hasEnded ||= event === 'end';
          onEvent({ event, data: JSON.parse(data) });
        },
      });
      const text = answer.body?.pipeThrough(new TextDecoderStream());
      if (text) for await (const chunk of text) parser.feed(chunk);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status !== 429 && error.status < 500) throw error;
    } finally {
      stop();
    }
    if (hasEnded || signal.aborted) break;
    if (reading.aborted) continue;
    onState('interrupted');
    await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 5_000, signal);
    tries += 1;
  }
  onState('ended');
}
