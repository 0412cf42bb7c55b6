import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createH2Server } from 'node:http2';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { closedPort, endpoint, portOf, useProxy } from './testing/proxy.fixture.ts';

/** Much shorter than the idle timeout, so that the test sees which of the two ended the request. */
const test = useProxy({ connectSeconds: 1 });

/** Opens a port with a full backlog, where new connections wait. */
async function deaf(): Promise<string> {
  const program = `require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    require('fs').writeSync(1, String(this.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
    process.exit();
  })`;
  const held = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void held.kill('SIGKILL'));
  const [port] = await once(held.stdout, 'data');
  for (let times = 0; times < 2; times += 1) {
    const waiting = connect(Number(port), '127.0.0.1').on('error', () => {});
    onTestFinished(() => void waiting.destroy());
    await once(waiting, 'connect');
  }
  return `127.0.0.1:${port}`;
}

async function h2Endpoint(): Promise<string> {
  const server = createH2Server((_asked, answer) => answer.end()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `127.0.0.1:${portOf(server)}`;
}

const statusOf = async (host: string): Promise<string> => {
  const { text } = await test.raw(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return text.slice(9, 12);
};

it.each([
  ['http1', () => endpoint((_asked, answer) => answer.end())],
  ['h2c', h2Endpoint],
] as const)(
  'over %s an endpoint that does not accept in time is skipped; 503 if it is the only one',
  async (protocol, alive) => {
    await test.route('dead', [await closedPort()], { protocol });
    expect(await statusOf('dead')).toBe('503');
    await test.route('deaf', [await deaf()], { protocol });
    expect(await statusOf('deaf')).toBe('503');
    await test.route('both', [await deaf(), await alive()], { protocol });
    const began = performance.now();
    const answers = [];
    for (let times = 0; times < 10; times += 1) answers.push(await statusOf('both'));
    expect(answers).toEqual(answers.map(() => '200'));
    // Each attempt that waits for the deaf endpoint takes a second.
    expect(performance.now() - began).toBeLessThan(4_000);
  },
);

it('an endpoint is used again soon after it accepts connections', async () => {
  const where = await closedPort();
  await test.route('back', [where]);
  expect(await statusOf('back')).toBe('503');
  const server = createServer((_asked, answer) => answer.end()).listen(
    Number(where.split(':')[1]),
    '127.0.0.1',
  );
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  await expect.poll(() => statusOf('back'), { timeout: 10_000 }).toBe('200');
});
