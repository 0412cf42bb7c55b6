import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KubeObject } from '#api/meta.ts';
import { streamWatch } from './watch-stream.ts';

const event = (type: string, name: string) => JSON.stringify({ type, object: { metadata: { name } } });

async function names(chunks: readonly Buffer[]): Promise<string[]> {
  const seen: string[] = [];
  await streamWatch<KubeObject>(Readable.from(chunks), 'watch', ({ object }) =>
    seen.push(object.metadata.name ?? ''),
  );
  return seen;
}

it('finds the same events for any chunk boundaries', async () => {
  const expected = ['a', 'жизнь', '🙂'];
  const bytes = Buffer.from(`${expected.map((name) => event('ADDED', name)).join('\n')}\n`);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
      const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const chunks = edges.slice(1).map((edge, at) => bytes.subarray(edges[at], edge));
      expect(await names(chunks.filter((chunk) => chunk.length > 0))).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

it('rejects with the error of an ERROR event, after the events before it', async () => {
  const gone = JSON.stringify({
    type: 'ERROR',
    object: { kind: 'Status', code: 410, reason: 'Expired', message: 'm' },
  });
  const seen: string[] = [];
  const body = Readable.from([Buffer.from(`${event('ADDED', 'a')}\n${gone}\n${event('ADDED', 'b')}\n`)]);
  const watch = streamWatch<KubeObject>(body, 'watch', ({ object }) => seen.push(object.metadata.name ?? ''));
  await expect(watch).rejects.toMatchObject({ reason: 'Expired' });
  expect(seen).toEqual(['a']);
});

it('yields to the event loop while megabytes arrive at once', async () => {
  const line = Buffer.from(`${event('ADDED', 'x'.repeat(64 * 1024))}\n`);
  let breaths = 0;
  let handle = setImmediate(function breathe() {
    breaths += 1;
    handle = setImmediate(breathe);
  });
  const seen = await names(Array.from({ length: 64 }, () => line));
  clearImmediate(handle);
  expect(seen).toHaveLength(64);
  expect(breaths).toBeGreaterThan(10);
});

it.each([
  ['HTML', '<html>\n</html>\n', 'Unknown'],
  ['another type', '{"type":"NEWS","object":{"metadata":{}}}\n', 'Unknown'],
  ['no object', '{"type":"ADDED"}\n', 'Unknown'],
  ['half an event', '{"type":"ADD', 'Connection'],
])('rejects %s', async (_what, text, reason) => {
  await expect(names([Buffer.from(text)])).rejects.toMatchObject({ reason });
});

it('rejects when the connection breaks', async () => {
  const body = new Readable({ read() {} });
  const watch = streamWatch(body, 'watch', () => {});
  body.push(`${event('ADDED', 'a')}\n`);
  body.destroy(new Error('reset'));
  await expect(watch).rejects.toMatchObject({ reason: 'Connection', message: 'watch: reset' });
});

it('rejects with the error that the receiver throws', async () => {
  const body = Readable.from([Buffer.from(`${event('ADDED', 'a')}\n`)]);
  const watch = streamWatch(body, 'watch', () => {
    throw new Error('enough');
  });
  await expect(watch).rejects.toThrow('enough');
  expect(body.destroyed).toBe(true);
});
