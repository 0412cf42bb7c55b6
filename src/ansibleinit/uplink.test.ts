import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RunEvent } from '#protocol/event.ts';
import { streaming, type Uplink } from './uplink.ts';

let server: Server;
let chunks: string[];
let kept: string;
let stop: boolean;
let dir: string;

/** Starts a stand-in for the server, which takes chunks as the server does: each continues where the last ended. */
beforeEach(async () => {
  [chunks, kept, stop] = [[], '', false];
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const offset = Number(new URL(request.url ?? '', 'http://server').searchParams.get('offset'));
      chunks.push(body);
      const fits = offset === Buffer.byteLength(kept);
      if (fits) kept += body;
      response
        .writeHead(fits ? 200 : 409)
        .end(JSON.stringify({ next: Buffer.byteLength(kept), ...(stop ? { stop } : {}) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  dir = mkdtempSync(join(tmpdir(), 'uplink-'));
});
afterEach(async () => {
  rmSync(dir, { recursive: true });
  await new Promise<void>((resolve) => void server.close(() => resolve()));
});

function uplinkToServer(): Uplink {
  for (const name of ['token', 'ca.crt']) writeFileSync(join(dir, name), '');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return streaming(
    {
      SERVER_URL: `http://127.0.0.1:${port}`,
      TOKEN_FILE: join(dir, 'token'),
      caFile: join(dir, 'ca.crt'),
    },
    'create-x-1',
    () => {},
  );
}
const event = (message: string): RunEvent => ({ time: '2026-01-01T10:00:00Z', event: 'info', message });

it('polls while it has nothing to send, and learns that the run is cancelled', async () => {
  const uplink = uplinkToServer();
  uplink.send(event('first'));
  await expect.poll(() => kept).not.toBe('');
  expect(uplink.cancelled.aborted).toBe(false);
  stop = true;
  await once(uplink.cancelled, 'abort', { signal: AbortSignal.timeout(10_000) });
  await uplink.close(10_000);
  expect(kept.split('\n')).toHaveLength(2);
});

it('cuts a line that is longer than a chunk, and sends the lines after it', async () => {
  const uplink = uplinkToServer();
  const messages = ['first', 'long '.repeat(100_000), '\u0001'.repeat(100_000), 'last'];
  for (const message of messages) uplink.send(event(message));
  await uplink.close(10_000);
  const lines = kept.split('\n').slice(0, -1);
  const reported = lines.map((line) => (JSON.parse(line) as RunEvent).message ?? '');
  expect(reported.map((text, index) => messages[index]?.startsWith(text.replace('… (cut)', '')))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([reported[0], reported[3]]).toEqual(['first', 'last']);
  expect(reported[1]).toContain('… (cut)');
  expect(chunks.filter((chunk) => chunk === '')).toEqual([]);
});
