import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { endpoint, useProxy } from './testing/proxy.fixture.ts';

/** Tests the answers that clients of a terminating replica get. */
const shedding = useProxy();
const ending = useProxy();

const session = (port: number): ClientHttp2Session => {
  const open = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => open.destroy());
  return open.on('error', () => {});
};
async function ask(open: ClientHttp2Session, host: string): Promise<string> {
  const stream = open.request({ ':authority': host });
  const [answer] = await once(stream, 'response');
  return `${answer[':status']} ${await buffer(stream)}`;
}

it('a shedding replica still answers, and closes each HTTP/1.1 connection after its answer', async () => {
  await shedding.route('h', [await endpoint((_asked, answer) => answer.end('x'))]);
  await shedding.proxy.shed();
  const { text, hasEnded } = await shedding.raw('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
  expect(text).toMatch(/^HTTP\/1.1 200 [\s\S]*connection: close/i);
  expect(hasEnded).toBe(true);
});

it('a terminating replica finishes HTTP/2 requests, sends GOAWAY, and refuses connections', async () => {
  const asked = Promise.withResolvers<() => void>();
  const where = await endpoint(({ url }, answer) =>
    url === '/wait' ? asked.resolve(() => answer.end('late')) : answer.end('x'),
  );
  await ending.route('h', [where]);
  const open = session(ending.httpsPort);
  expect(await ask(open, 'h')).toBe('200 x');
  const stream = open.request({ ':authority': 'h', ':path': '/wait' });
  const answer = await asked.promise;
  const goaway = once(open, 'goaway');
  const closed = ending.proxy.close(AbortSignal.timeout(20_000));
  await goaway;
  answer();
  expect(`${await buffer(stream)}`).toBe('late');
  await closed;
  await expect(ending.open()).rejects.toThrow('ECONNREFUSED');
});
