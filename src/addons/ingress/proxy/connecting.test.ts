import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createH2Server } from 'node:http2';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { endpoint, nobody, portOf, usePlane } from './testing/plane.fixture.ts';

/** So little beside the time without a byte that a test would not see the end of that. */
const test = usePlane({ connectMs: 300 });

/** A port where connections wait to be taken, and there is no room for more. */
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
  'over %s an endpoint that takes no connection in time is passed over; the last one is 504, and 502 where nobody listens',
  async (protocol, alive) => {
    test.route('dead', [await nobody()], { protocol });
    expect(await statusOf('dead')).toBe('502');
    test.route('deaf', [await deaf()], { protocol });
    expect(await statusOf('deaf')).toBe('504');
    test.route('both', [await deaf(), await alive()], { protocol });
    expect([await statusOf('both'), await statusOf('both')]).toEqual(['200', '200']);
  },
);
