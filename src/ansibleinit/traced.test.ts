import { expect, it } from 'vitest';
import { type RunSpec, runSpecSchema } from '#protocol/run-spec.ts';
import type { Span } from '#tracing/span.ts';
import { traced } from './traced.ts';
import type { Uplink } from './uplink.ts';

const runSpec: RunSpec = runSpecSchema.parse({
  task: 'create',
  callback: 'create',
  cluster: { id: 'one', namespace: 'default', name: 'demo', region: 'north' },
  run: { job: 'create-b7k2m9x4qz-1', sequence: 1, attempt: 1 },
  steps: [],
  hosts: [],
  username: 'root',
  precheck: 'all',
  brings: [],
  endpoint: { name: 'api', address: '' },
  trace: { id: 'a'.repeat(32), parent: 'b'.repeat(16) },
  vars: {},
});
const time = (second: number) => `2026-11-29T10:00:${String(second).padStart(2, '0')}.000Z`;

it('makes a span of the run, of each step, and of each task on a host', async () => {
  const spans: Span[] = [];
  const sent: string[] = [];
  const plain: Uplink = {
    send: ({ event }) => sent.push(event),
    step: () => {},
    cancelled: new AbortController().signal,
    close: async () => {},
  };
  const uplink = traced(plain, runSpec, { add: (span) => spans.push(span), close: async () => {} });
  uplink.send({ time: time(0), event: 'play', play: 'Prepare hosts' });
  uplink.send({ time: time(1), event: 'start', host: '192.0.2.11', task: 'Install' });
  uplink.send({ time: time(5), event: 'changed', host: '192.0.2.11', task: 'Install', seconds: 4 });
  uplink.send({ time: time(6), event: 'play', play: 'Join hosts' });
  const secret = { message: 'a secret in an output' };
  uplink.send({ time: time(8), event: 'failed', host: '192.0.2.12', task: 'Join', seconds: 1, ...secret });
  await uplink.close(1_000);
  expect(sent).toEqual(['play', 'start', 'changed', 'play', 'failed']);
  const [install, prepare, join, step, run] = spans;
  expect([install?.name, prepare?.name, join?.name, step?.name, run?.name]).toEqual([
    'Install',
    'Prepare hosts',
    'Join',
    'Join hosts',
    'create-b7k2m9x4qz-1',
  ]);
  expect(install).toMatchObject({
    parentSpanId: prepare?.spanId,
    startMs: Date.parse(time(1)),
    endMs: Date.parse(time(5)),
    attributes: { 'matryoshka.cluster': 'default/demo', 'matryoshka.host': '192.0.2.11' },
    isError: false,
  });
  expect(prepare).toMatchObject({ parentSpanId: run?.spanId, endMs: Date.parse(time(6)), isError: false });
  expect(join).toMatchObject({ parentSpanId: step?.spanId, isError: true });
  expect(step).toMatchObject({ isError: true });
  expect(run).toMatchObject({ parentSpanId: 'b'.repeat(16), isError: true });
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set(['a'.repeat(32)]));
  expect(JSON.stringify(spans)).not.toContain('secret');
});
