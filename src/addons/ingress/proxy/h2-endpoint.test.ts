import { once } from 'node:events';
import { createServer } from 'node:http2';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createDeadlines } from './deadlines.ts';
import { createH2Pool } from './h2-endpoint.ts';
import type { RequestHead } from './http1/heads.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { portOf } from './testing/plane.fixture.ts';

async function pooled() {
  const closed = Promise.withResolvers<void>();
  const server = createServer((_asked, answer) => answer.end('x'));
  server.on('session', (session) => session.once('close', closed.resolve));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const deadlines = createDeadlines(systemClock);
  const pool = createH2Pool({ deadlines, limits: DEFAULT_LIMITS });
  onTestFinished(() => {
    pool.close();
    deadlines.stop();
    server.close();
  });
  const framing = { length: undefined, connection: [], upgrade: undefined };
  const head: RequestHead = {
    ...{ method: 'GET', target: '/', path: '/', authority: 'h', version: '2', fields: [], framing },
  };
  const ask = () => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const events = {
      ...{ interim() {}, data() {}, pausing() {}, answerEnd() {}, backendDrained() {}, upgraded() {} },
      ...{ answered: ({ status }: { status: number }) => resolve(status), failed: reject },
    };
    const wish = { connected() {}, connectFailed: reject, refused: () => reject(new Error('refused')) };
    pool.request(`127.0.0.1:${portOf(server)}`, head, [], true, events, wish);
    return promise;
  };
  return { pool, ask, closed: closed.promise };
}

describe('a request to an endpoint that goes in that moment', () => {
  it.each([
    ['whose connection is not there yet', 0],
    ['that was not yet sent', 1],
  ])('%s is answered by it, and then the connection ends', async (_when, before) => {
    const { pool, ask, closed } = await pooled();
    for (let times = 0; times < before; times += 1) expect(await ask()).toBe(200);
    const answered = ask();
    pool.keepOnly(new Set());
    expect(await answered).toBe(200);
    await closed;
  });
});
