import { z } from 'zod';
import { type RestClient, restClient as typedClient } from '#rest/client.ts';
import { overHttps } from '#rest/https.ts';

/** A response of the REST API: its status, and its body as JSON or text. */
export interface Answer {
  status: number;
  body: unknown;
  headers: Readonly<Record<string, string | string[] | number | undefined>>;
}

/** REST client of the lab: the product's own client, and requests that no typed client would send. */
export interface Rest extends RestClient {
  raw(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, token?: string): Promise<Answer>;
  /** Passes the lines of an operation's log as they arrive, until the operation ends. */
  follow(path: string, onLine: (line: string) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

function parsed(text: string): unknown {
  try {
    return z.json().parse(JSON.parse(text));
  } catch {
    return text;
  }
}

export function restClient(url: string, ca: string, token: string): Rest {
  const https = overHttps(url, ca);
  return {
    ...typedClient(https.send, token),
    async raw(method, path, body, as = token) {
      const headers = { authorization: `Bearer ${as}`, 'content-type': 'application/json' };
      const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
      const answer = await https.send({ method, path, headers, body: text });
      return { status: answer.status, body: parsed(answer.text), headers: answer.headers };
    },
    follow: (path, onLine, signal) => https.lines(path, token, onLine, signal),
    close: https.close,
  };
}
