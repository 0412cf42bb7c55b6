import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import {
  CONTINUATION,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  HEADERS,
  literals,
  openFrames,
  PING,
  RST_STREAM,
  requestTo,
  SETTINGS,
} from './testing/h2-frames.fixture.ts';
import { endpoint, keepsOthersServed, usePlane } from './testing/plane.fixture.ts';

/** Heads of HTTP/2 that would cost more than they are worth, from clients that heed no setting of ours. */
const test = usePlane({ headBytes: 1_500, headerCount: 20, keepAliveMs: 500, idleMs: 500 });
keepsOthersServed(test);

const reached: string[] = [];
const field = (name: string) => literals({ [name]: 'x'.repeat(120) });
const fields = (count: number) => Array.from({ length: count }, (_, at) => field(`x-${at}`));
async function opened() {
  test.route('h', [
    await endpoint((asked, answer) => {
      reached.push(`${asked.url}`);
      answer.end();
    }),
  ]);
  reached.splice(0);
  return openFrames(test.httpsPort);
}

describe('a header block', () => {
  it('that is too large is refused, and the next one of its connection is served', async () => {
    const connection = await opened();
    connection.send(
      frame(HEADERS, END_STREAM, 1, requestTo('h')),
      ...fields(7).map((one) => frame(CONTINUATION, 0, 1, one)),
      frame(CONTINUATION, END_HEADERS, 1, Buffer.concat(fields(15).slice(7))),
    );
    await connection.until(({ stream, flags, type }) => stream === 1 && (type === 3 || (flags & 1) === 1));
    expect(reached).toEqual([]);
    expect(test.served.at(-1)).toMatchObject({ status: 431 });
    connection.send(frame(HEADERS, END_STREAM | END_HEADERS, 3, requestTo('h')));
    await connection.until(({ stream }) => stream === 3);
    expect(reached).toEqual(['/']);
    connection.close();
  });

  it('of too many fields is refused', async () => {
    const connection = await opened();
    const many = Array.from({ length: 40 }, (_, at) => literals({ [`x-${at}`]: '' }));
    connection.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, Buffer.concat([requestTo('h'), ...many])));
    const { frames } = await connection.until(({ stream }) => stream === 1);
    expect(frames.at(-1)?.type).toBe(RST_STREAM);
    expect(reached).toEqual([]);
    connection.close();
  });

  it('without an end ends its connection', async () => {
    const connection = await opened();
    connection.send(frame(HEADERS, END_STREAM, 1, requestTo('h')));
    for (const one of fields(1_000)) connection.send(frame(CONTINUATION, 0, 1, one));
    const { frames, hasEnded } = await connection.until(() => false);
    expect([hasEnded, frames.some(({ type }) => type === HEADERS)]).toEqual([true, false]);
    expect(reached).toEqual([]);
  });

  it.each([
    ['stops', 0],
    ['comes byte by byte', 50],
  ])('that %s ends its connection in time', async (_how, everyMs) => {
    const connection = await opened();
    connection.send(frame(HEADERS, END_STREAM, 1, requestTo('h')));
    // Of a frame that is to be of 16,000 bytes.
    connection.send(frame(CONTINUATION, 0, 1, Buffer.alloc(16_000)).subarray(0, 9));
    const drip = everyMs > 0 ? setInterval(() => connection.send(Buffer.alloc(1)), everyMs) : undefined;
    const { hasEnded } = await connection.until(() => false);
    clearInterval(drip);
    expect([hasEnded, reached]).toEqual([true, []]);
  });
});

describe('a connection of HTTP/2', () => {
  it.each([
    ['PINGs', frame(PING, 0, 0, Buffer.alloc(8))],
    ['SETTINGS', frame(SETTINGS, 0, 0, '')],
  ])('that asks for nothing ends in time, however many %s it sends', async (_what, sent) => {
    const connection = await opened();
    const drip = setInterval(() => connection.send(sent), 50);
    const { frames, hasEnded } = await connection.until(() => false);
    clearInterval(drip);
    expect([hasEnded, frames.some(({ type }) => type === GOAWAY)]).toEqual([true, true]);
  });

  it('is there for as long as a request of it is', async () => {
    const answers: (() => void)[] = [];
    test.route('long', [await endpoint((_asked, answer) => answers.push(() => answer.end('late')))]);
    const connection = await opened();
    connection.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, requestTo('long')));
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    await sleep(300);
    answers[0]?.();
    const { frames } = await connection.until(
      ({ stream, flags }) => stream === 1 && (flags & END_STREAM) !== 0,
    );
    expect(frames.some(({ type }) => type === GOAWAY)).toBe(false);
    connection.close();
  });
});
