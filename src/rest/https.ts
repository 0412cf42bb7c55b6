import { Agent, request } from 'undici';
import type { Send } from './client.ts';
import { follow, NotFollowed } from './follow.ts';
import { LOG_END_TRAILER, type LogEnd } from './read-routes.ts';

const TIMEOUT_MS = 30_000;

/** Connection to a server over HTTPS, whose certificate `ca` (PEM) has signed. */
export interface Https {
  send: Send;
  /** Follows a log line by line, through restarts of the server. Rejects with the reason of `signal`. */
  lines(
    path: string,
    token: string,
    onLine: (line: string) => void,
    signal: AbortSignal,
    onInterrupted?: () => void,
  ): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to a server over HTTPS.
 * @param url Without a path: `https://192.0.2.10:32443`
 */
export function overHttps(url: string, ca: string): Https {
  const dispatcher = new Agent({ connect: { ca }, bodyTimeout: 0 });
  return {
    async send({ method, path, headers, body }) {
      const answer = await request(`${url}/api/v1${path}`, {
        method,
        dispatcher,
        headers,
        body: body ?? null,
        headersTimeout: TIMEOUT_MS,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
    },
    lines(path, token, onLine, signal, onInterrupted) {
      async function read(report: (line: string) => void): Promise<LogEnd | undefined> {
        const { statusCode, body, trailers } = await request(`${url}/api/v1${path}`, {
          dispatcher,
          headers: { authorization: `Bearer ${token}`, accept: 'text/plain' },
          headersTimeout: TIMEOUT_MS,
          signal,
        });
        if (statusCode !== 200) {
          const text = `${statusCode}: ${await body.text()}`;
          throw statusCode === 429 || statusCode >= 500 ? new Error(text) : new NotFollowed(text);
        }
        let rest = '';
        for await (const chunk of body.setEncoding('utf8')) {
          const lines = (rest + String(chunk)).split('\n');
          rest = lines.pop() ?? '';
          lines.forEach(report);
        }
        const end = trailers[LOG_END_TRAILER];
        return end === 'complete' || end === 'broken-off' ? end : undefined;
      }
      return follow(read, onLine, signal, { onInterrupted });
    },
    close: () => dispatcher.close(),
  };
}
