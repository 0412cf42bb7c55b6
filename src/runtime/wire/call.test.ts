import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { ApiError } from './api-error.ts';
import { createCaller } from './call.ts';
import type { Endpoint } from './endpoint.ts';
import type { Transport, WireAnswer, WireRequest } from './transport.ts';

type Reply = Partial<WireAnswer> | Error;

function setUp(replies: Reply[], endpoint: Partial<Endpoint> = {}) {
  const clock = createManualClock();
  const sent: WireRequest[] = [];
  const transport: Transport = {
    async send(request) {
      sent.push(request);
      const reply = replies.shift();
      if (reply === undefined)
        return new Promise((_, reject) =>
          request.signal.addEventListener('abort', () => reject(request.signal.reason)),
        );
      if (reply instanceof Error) throw reply;
      return { status: 200, retryAfter: undefined, text: '{}', ...reply };
    },
    open: () => Promise.reject(new Error('not here')),
    close: async () => {},
  };
  const whole: Endpoint = { url: 'https://x', tls: () => ({}), headers: () => ({}), ...endpoint };
  const caller = createCaller(whole, { userAgent: 'test', clock, transport });
  return { clock, sent, caller };
}
const reset = () =>
  new ApiError('Connection', 'reset', {
    status: 0,
    cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
  });
const get = { method: 'GET', path: '/x' } as const;
const post = { method: 'POST', path: '/x', body: { a: 1 } } as const;

it('waits for Retry-After, also before a write', async () => {
  const { clock, sent, caller } = setUp([
    { status: 429, retryAfter: '2' },
    { status: 503, retryAfter: '1' },
    { text: '{"ok":1}' },
  ]);
  const answer = caller.call(post);
  await clock.advance(1999);
  expect(sent).toHaveLength(1);
  await clock.advance(1001);
  expect(await answer).toEqual({ ok: 1 });
  expect(sent).toHaveLength(3);
});

it('checks its guard before each retry', async () => {
  const { clock, sent, caller } = setUp([{ status: 429, retryAfter: '10' }, {}]);
  let leading = true;
  const guard = () => {
    if (!leading) throw new Error('not leading');
  };
  const outcome = expect(caller.call({ ...post, guard })).rejects.toThrow('not leading');
  await clock.advance(5000);
  leading = false;
  await clock.advance(5000);
  await outcome;
  expect(sent).toHaveLength(1);
});

it('returns a longer wait to a caller that limits it', async () => {
  const { clock, sent, caller } = setUp([
    { status: 429, retryAfter: '1' },
    { status: 503, retryAfter: '2' },
  ]);
  const outcome = expect(caller.call({ ...post, maxRetryWaitMs: 1000 })).rejects.toMatchObject({
    reason: 'ServiceUnavailable',
    retryAfterSeconds: 2,
  });
  await clock.advance(1000);
  await outcome;
  expect(sent).toHaveLength(2);
});

it('does not retry an error without Retry-After, nor a conflict', async () => {
  for (const status of [500, 503, 429, 409]) {
    const { sent, caller } = setUp([{ status }, {}]);
    await expect(caller.call(get)).rejects.toMatchObject({ status });
    expect(sent).toHaveLength(1);
  }
});

it('retries a GET after a connection error, but never a write', async () => {
  const reading = setUp([reset(), { text: '{"ok":1}' }]);
  const answer = reading.caller.call(get);
  await reading.clock.advance(100);
  expect(await answer).toEqual({ ok: 1 });
  const writing = setUp([reset(), {}]);
  await expect(writing.caller.call(post)).rejects.toMatchObject({ reason: 'Connection' });
  expect(writing.sent).toHaveLength(1);
});

it('limits the total time, including waits', async () => {
  const { clock, caller } = setUp(Array.from({ length: 50 }, () => ({ status: 429, retryAfter: '7' })));
  const answer = caller.call({ ...get, timeoutMs: 20_000 });
  const outcome = expect(answer).rejects.toMatchObject({
    reason: 'Timeout',
    message: 'GET /x: no answer within 20 s',
  });
  await clock.advance(20_000);
  await outcome;
  expect(clock.timers).toBe(0);
});

it('limits a silent server to 30 s, and stops on the signal of the caller', async () => {
  const silent = setUp([]);
  const outcome = expect(silent.caller.call(get)).rejects.toMatchObject({ reason: 'Timeout' });
  await silent.clock.advance(30_000);
  await outcome;
  const abort = new AbortController();
  const ended = setUp([]);
  const answer = ended.caller.call({ ...get, signal: abort.signal });
  abort.abort(new Error('enough'));
  await expect(answer).rejects.toThrow('enough');
  expect(ended.clock.timers).toBe(0);
});

it('reloads its credentials once after a 401', async () => {
  let token = 'old';
  const endpoint = {
    headers: () => ({ authorization: token }),
    refresh() {
      token = 'new';
    },
  };
  const { sent, caller } = setUp([{ status: 401 }, { status: 401 }, {}], endpoint);
  await expect(caller.call(get)).rejects.toMatchObject({ reason: 'Unauthorized' });
  expect(sent.map(({ headers }) => headers['authorization'])).toEqual(['old', 'new']);
});

it.each(['<html></html>', '{"half'])('rejects the invalid answer %j', async (text) => {
  const { caller } = setUp([{ text }]);
  await expect(caller.call(get)).rejects.toMatchObject({ reason: 'Unknown' });
});

it('yields to the event loop before it parses a long answer', async () => {
  const { caller } = setUp([{ text: JSON.stringify({ much: 'x'.repeat(300_000) }) }]);
  let breathed = false;
  setImmediate(() => {
    breathed = true;
  });
  await caller.call(get);
  expect(breathed).toBe(true);
});
