import { expect, it } from 'vitest';
import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { clientOver } from '#runtime/client/client.ts';
import { endOfLog, liveLog, sharedReads } from './log-reader.ts';
import type { LogPosition } from './log-source.ts';

const event = (message: string) => `${JSON.stringify({ time: '2026-01-01T10:00:00Z', message })}\n`;
const cluster = (more: Partial<OperationStatus> = {}): KubernetesCluster => ({
  apiVersion: 'ecs.yun.com/v1',
  kind: 'KubernetesCluster',
  metadata: { namespace: 'a', name: 'demo', uid: '1' },
  spec: { cluster: {} },
  status: { operation: runningOperation(more) },
});
it('reads once for all followers, and to the end of the operation', async () => {
  const clock = createManualClock();
  let now = cluster();
  const parts = [event('first')];
  const reads = { cluster: 0, part: 0, followed: 0 };
  const client = clientOver({
    call: async () => {
      reads.cluster += 1;
      return now;
    },
    stream: () => Promise.reject(new Error('no streams')),
    close: async () => {},
  });
  const logs = {
    read: async (_job: string, { number, offset }: LogPosition) => {
      reads.part += 1;
      const text = parts[number];
      return text === undefined
        ? undefined
        : { text, next: { number: number + 1, offset: offset + text.length } };
    },
    follow: async () => {
      reads.followed += 1;
    },
  };
  const shared = sharedReads(client, logs, clock);
  const { signal } = new AbortController();
  const authorize = async () => {};
  const reported = Array.from({ length: 20 }, async () => {
    let all = '';
    for await (const more of liveLog(
      { clock, logs, shared, authorize },
      { namespace: 'a', name: 'demo' },
      '1',
      signal,
    ))
      all += more;
    return all;
  });
  for (let probe = 0; probe < 10; probe += 1) await clock.advance(500);
  expect(reads.cluster).toBeLessThanOrEqual(11);
  expect(reads.part).toBeLessThanOrEqual(12);
  // Jobs with a followed log send more often.
  expect(reads.followed).toBeGreaterThan(0);
  parts.push(event('last'));
  now = cluster({ result: 'finished' });
  await clock.advance(500);
  const [first, ...others] = await Promise.all(reported);
  expect(first).toBe('--- a/demo\n10:00:00  first\n10:00:00  last\ncreate finished\n');
  expect(new Set(others)).toEqual(new Set([first]));
});

it('keeps the end of a long log, and explains how to get all of it', async () => {
  const lines = Array.from({ length: 16 }, (_, number) =>
    event(`part ${number} ${'x'.repeat(1000)}`).repeat(480),
  );
  const logs = {
    tail: async (_job: string, bytes: number) => {
      const texts: string[] = [];
      for (let had = 0, at = lines.length - 1; had < bytes && at >= 0; at -= 1) {
        texts.unshift(lines[at] ?? '');
        had += lines[at]?.length ?? 0;
      }
      return { text: texts.join(''), isWhole: texts.length === lines.length };
    },
  };
  const text = (await endOfLog(logs, cluster())) ?? '';
  expect(text.length).toBeLessThan(1024 * 1024 + 200);
  expect(text).toMatch(/^--- what came before is left out; ask with "\?follow=true"/);
  expect(text.split('\n')[1]).toMatch(/^10:00:00 {2}part 13/);
  expect(text).toContain('part 15');
  expect(text).not.toContain('part 1 ');
});

it('ends within 30 s for a follower whose permission is revoked', async () => {
  const clock = createManualClock();
  const logs = { read: async () => undefined, follow: async () => {} };
  const shared = { cluster: async () => cluster(), piece: logs.read };
  const authorize = () => Promise.reject(new Error('withdrawn'));
  const key = { namespace: 'a', name: 'demo' };
  const { signal } = new AbortController();
  const lines: string[] = [];
  const follower = (async () => {
    for await (const text of liveLog({ clock, logs, shared, authorize }, key, '1', signal)) lines.push(text);
  })();
  const refused = expect(follower).rejects.toThrow('withdrawn');
  for (let probe = 0; probe < 60; probe += 1) await clock.advance(500);
  await refused;
  expect(lines).toEqual(['--- a/demo\n']);
});
