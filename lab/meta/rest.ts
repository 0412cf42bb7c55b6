import { Agent, request } from 'undici';
import { z } from 'zod';

/** An answer of the REST API: its status, and its body as JSON or text. */
export interface Answer {
  status: number;
  body: unknown;
  headers: Record<string, string | string[] | undefined>;
}

/** What the lab needs of the REST API; the product's own client comes with its command line. */
export interface Rest {
  call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, token?: string): Promise<Answer>;
  /** Lines of an operation's log as they come, until the operation ends. */
  follow(path: string, onLine: (line: string) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;

function parsed(text: string): unknown {
  try {
    return z.json().parse(JSON.parse(text));
  } catch {
    return text;
  }
}

export function restClient(url: string, ca: string, token: string): Rest {
  const dispatcher = new Agent({ connect: { ca }, bodyTimeout: 0 });
  return {
    async call(method, path, body, as = token) {
      const answer = await request(`${url}/api/v1${path}`, {
        method,
        dispatcher,
        headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
        body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
        headersTimeout: TIMEOUT_MS,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { status: answer.statusCode, body: parsed(await answer.body.text()), headers: answer.headers };
    },
    async follow(path, onLine, signal) {
      const { body } = await request(`${url}/api/v1${path}`, {
        dispatcher,
        headers: { authorization: `Bearer ${token}`, accept: 'text/plain' },
        headersTimeout: TIMEOUT_MS,
        signal,
      });
      let rest = '';
      for await (const chunk of body) {
        const lines = (rest + String(chunk)).split('\n');
        rest = lines.pop() ?? '';
        lines.forEach(onLine);
      }
    },
    close: () => dispatcher.close(),
  };
}
