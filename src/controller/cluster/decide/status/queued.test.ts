import { expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import type { ClusterStatus } from '#api/kubernetes-cluster.ts';
import type { Turn } from '../snapshot.ts';
import { decide } from '../table.ts';
import { creating, held, operation, outcome, signal, snapshot } from '../testing/given.fixture.ts';
import { statusAfter } from './status.ts';

const waits = (before: number | undefined): Turn => ({ kind: 'waits', before, most: 50 });
const accepted = { ...creating, operation };

it('holds no host and starts no Job before the turn of the operation', () => {
  expect(outcome({ ...accepted, turn: waits(3) })).toEqual({ kind: 'rest', turn: waits(3) });
  expect(outcome(accepted)).toMatchObject({ effects: [{ kind: 'hold' }, {}, { kind: 'start' }] });
});

it('refuses an invalid plan at once, without waiting for a turn', () => {
  const plan = {
    sequence: 1,
    hosts: [],
    release: [],
    steps: [],
    hooks: [],
    refusals: [{ field: 'spec', reason: 'is wrong' }],
  };
  expect(outcome({ ...accepted, plan, turn: waits(3) })).toMatchObject({
    kind: 'end',
    reason: 'InvalidSpec',
  });
});

it('removes the stopped run before the deletion has its turn', () => {
  const run = { clusterId: 'id1', sequence: 1, attempt: 1, job: 'create-abc-1' };
  const deletion = { ...operation, id: 'def', name: 'delete' as const, sequence: 2, word: 'terminating' };
  const given = { cluster: { status: { phase: 'Terminating' as const } }, deleted: true, hosts: held };
  expect(outcome({ ...given, operation: deletion, attempts: [run], turn: waits(3) })).toEqual({
    kind: 'act',
    effects: [{ kind: 'discard', attempts: [run] }],
  });
});

it('gives an operation its full time after any wait', () => {
  const now = new Date('2026-01-03T00:00:00Z');
  expect(outcome({ ...accepted, now })).toMatchObject({
    effects: [{}, {}, { kind: 'start', attempt: { deadlineSeconds: 3600 } }],
  });
  const second = { ...operation, attempt: 2 };
  expect(signal({ ...accepted, operation: second, now })).toBe('deadline-exceeded');
  // The run ended before it was seen: its start is unknown, and the remaining work may still take its time.
  expect(signal({ ...accepted, now, attempt: { kind: 'succeeded' } })).toBe('started');
  const early = new Date('2026-01-01T00:30:00Z');
  expect(signal({ ...accepted, now: early, attempt: { kind: 'succeeded' } })).toBe('succeeded');
});

const reported = (turn: Turn, status: ClusterStatus = {}) => {
  const given = snapshot({ ...accepted, cluster: { status: { ...status, phase: 'Prechecking' } }, turn });
  return statusAfter(given, decide(given).outcome);
};

it.each([
  [0, 'is the next to begin; at most 50 run at once'],
  [1, 'waits for 1 operation before it; at most 50 run at once'],
  [3, 'waits for 3 operations before it; at most 50 run at once'],
  [20, 'waits for 20 or more operations before it; at most 50 run at once'],
  [undefined, 'waits for its turn; at most 50 run at once'],
])('reports with %s operations before it: %s', (before, message) => {
  const status = reported(waits(before));
  expect(findCondition(status.conditions, 'Reconciling')).toMatchObject({
    status: 'True',
    reason: 'Queued',
    message,
  });
  expect(status.summary).toBe(`creating: ${message.split(';')[0]}`);
});

it('keeps the reported place while the new place is unknown', () => {
  const before = reported(waits(3));
  expect(reported(waits(undefined), before)).toEqual(before);
});
