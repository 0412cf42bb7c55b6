import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Settings } from './settings.ts';

const REQUEST_TIMEOUT_MS = 20_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;

/** Server address and credentials of the caller. */
export type Way = Pick<Settings, 'SERVER_URL' | 'TOKEN_FILE' | 'caFile'>;

export interface Answer {
  status: number;
  body: string;
}

/**
 * Sends one POST to the server. It reads token and CA each time, since both are rotated. It follows no redirect, so the
 * token goes to the configured server only.
 */
async function post(
  settings: Way,
  path: string,
  body: string,
  contentType: string,
  signal: AbortSignal,
): Promise<Answer> {
  const token = readFileSync(settings.TOKEN_FILE, 'utf8').trim();
  const dispatcher = new Agent({ connect: { ca: readFileSync(settings.caFile, 'utf8') } });
  try {
    const answer = await request(new URL(path, settings.SERVER_URL), {
      method: 'POST',
      dispatcher,
      body,
      headers: { 'content-type': contentType, authorization: `Bearer ${token}` },
      headersTimeout: REQUEST_TIMEOUT_MS,
      bodyTimeout: REQUEST_TIMEOUT_MS,
      signal,
    });
    return { status: answer.statusCode, body: await answer.body.text() };
  } finally {
    await dispatcher.close();
  }
}

/** Whether another attempt may succeed. */
const isPassing = (status: number): boolean => status === 425 || status === 429 || status >= 500;

/** Repeats a POST until the server gives a final answer or `signal` aborts. Rejects with the last failure. */
export async function postUntilAnswered(
  settings: Way,
  path: string,
  body: string,
  contentType: string,
  signal: AbortSignal,
): Promise<Answer> {
  let delayMs = FIRST_RETRY_MS;
  for (;;) {
    let failure: string;
    try {
      const answer = await post(settings, path, body, contentType, signal);
      if (!isPassing(answer.status)) return answer;
      failure = `status ${answer.status}`;
    } catch (error) {
      failure = messageOf(error);
    }
    try {
      await sleep(delayMs, signal);
    } catch {
      throw new Error(`the server did not answer: ${failure}`);
    }
    delayMs = Math.min(delayMs * 2, LAST_RETRY_MS);
  }
}
