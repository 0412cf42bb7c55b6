import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseListAnswer } from './json-answer.ts';

/** Splits bytes into chunks, also within characters, as the network does. */
async function* inChunks(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const parse = (text: string, size = 16_384) =>
  parseListAnswer(inChunks(Buffer.from(text), size), 200, 'GET /x');

const filler = 'x'.repeat(2_000);
const pod = (at: number) => ({ metadata: { name: `pod-${at}`, filler }, spec: { containers: [{ at }] } });
/** Builds a custom resource, whose fields the API server sorts. Its nested objects begin as the object does. */
const custom = (at: number) => ({
  apiVersion: 'example.com/v1',
  kind: 'Sample',
  metadata: {
    managedFields: ['a', 'b'].map((manager) => ({
      apiVersion: 'example.com/v1',
      fieldsV1: { filler },
      manager,
    })),
    name: `sample-${at}`,
    ownerReferences: ['a', 'b'].map((name) => ({ apiVersion: 'example.com/v1', kind: 'Sample', name })),
  },
});
const many = <T>(make: (at: number) => T) => Array.from({ length: 200 }, (_, at) => make(at));
const metadata = { resourceVersion: '7', continue: 'abc', remainingItemCount: 9 };

it.each([
  ['of a built-in kind', { kind: 'PodList', apiVersion: 'v1', metadata, items: many(pod) }],
  ['of a custom kind', { apiVersion: 'x/v1', items: many(custom), kind: 'SampleList', metadata }],
  ['whose fields come in another order', { metadata: { more: { a: [1] } }, items: many(pod) }],
  ['with one item that is longer than all', { kind: 'List', items: [pod(1), { ...pod(2), all: many(pod) }] }],
  ['without items', { kind: 'PodList', apiVersion: 'v1', metadata, items: [] }],
  ['whose items are null', { kind: 'PodList', apiVersion: 'v1', metadata, items: null }],
  ['that is none', { kind: 'Status', details: { items: many(pod) } }],
])('returns a list %s unchanged', async (_, list) => {
  for (const size of [1_000, 16_384, 1_000_000])
    expect(await parse(JSON.stringify(list), size)).toEqual(list);
});

it('returns any items unchanged for any chunk boundaries', async () => {
  const item = fc.record({
    metadata: fc.record({ name: fc.string({ unit: 'grapheme' }) }),
    data: fc.jsonValue(),
  });
  const odd = [
    '"},{"metadata":',
    '\\"},{\\"metadata\\":',
    '{"metadata":{}},{"metadata":{}}',
    '🪆]}',
    '"items":[{"a":',
  ];
  const spiced = fc
    .tuple(item, fc.constantFrom(...odd))
    .map(([whole, spice]) => ({ ...whole, spice, filler }));
  const lists = fc.array(spiced, { minLength: 40, maxLength: 120 });
  await fc.assert(
    fc.asyncProperty(lists, fc.integer({ min: 1_000, max: 100_000 }), async (items, size) => {
      const list = { kind: 'PodList', apiVersion: 'v1', metadata, items };
      // JSON has no -0.
      expect(await parse(JSON.stringify(list), size)).toEqual(JSON.parse(JSON.stringify(list)));
    }),
    { numRuns: 50 },
  );
});

it.each([
  ['of a built-in kind', { kind: 'PodList', apiVersion: 'v1', metadata, items: many(pod) }],
  ['of a custom kind', { apiVersion: 'x/v1', items: many(custom), kind: 'SampleList', metadata }],
])('yields to the event loop while it parses a long list %s', async (_, list) => {
  let turns = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const text = JSON.stringify(list);
  await parse(text);
  clearImmediate(next);
  // Each piece of 64 KiB, or of one chunk more, takes one turn.
  expect(turns).toBeGreaterThan(text.length / (96 * 1024));
});

it.each([
  ['cut off', JSON.stringify({ kind: 'PodList', metadata, items: many(pod) }).slice(0, -2_500)],
  ['a web page', `<html>${filler.repeat(100)}</html>`],
  [
    'broken within',
    JSON.stringify({ kind: 'PodList', metadata, items: many(pod) }).replace('pod-9"', 'pod-9'),
  ],
])('reports that an answer is not JSON: %s', async (_, text) => {
  await expect(parse(text)).rejects.toMatchObject({
    reason: 'Unknown',
    message: expect.stringMatching(/^GET \/x(, after \d+ items)?: the answer is no JSON: /),
  });
});

it('returns undefined for an empty answer', async () => {
  expect(await parse('')).toBeUndefined();
});
