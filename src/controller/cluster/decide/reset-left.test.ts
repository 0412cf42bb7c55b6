import { describe, expect, it } from 'vitest';
import type { HostRecordStatus } from '#api/host-record.ts';
import { annotations } from '#api/names.ts';
import type { Phase } from '#api/words.ts';
import { decide } from './table.ts';
import { joined, operation, snapshot } from './testing/given.fixture.ts';

const LEFT_AT = '2026-01-01T00:00:00.000Z';
const MINUTE = 60_000;

/** The second worker was away when operation 2 took it out; `tries`: further operations that did not reach it. */
function left({
  tries = 0,
  minutes = 10,
  status = {} as HostRecordStatus,
  spec = {},
  marks = {},
  phase = 'Running' as Phase,
} = {}) {
  const [one, two, away] = joined;
  if (!one || !two || !away) throw new Error('the fixture has three hosts');
  const lastRun = {
    operation: 'scale-down',
    sequence: 2 + tries,
    attempt: 1,
    did: [],
    ok: false,
    at: LEFT_AT,
  };
  const record = {
    ...away,
    status: {
      state: 'Unclean',
      touched: true,
      leavingBy: { sequence: 2, attempt: 1 },
      lastRun,
      ...status,
    } as const,
  };
  const ended = {
    ...operation,
    name: 'scale-down',
    word: 'scaling-down',
    sequence: 2 + tries,
    result: 'finished',
  } as const;
  const cluster = { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }] };
  return decide(
    snapshot({
      now: new Date(Date.parse(LEFT_AT) + minutes * MINUTE),
      word: 'scale-down-finished',
      appliedBy: 2 + tries,
      marks,
      hosts: [one, two, record],
      operation: ended,
      kubeconfig: { kind: 'present' },
      cluster: { spec: { cluster, ...spec }, status: { phase } },
    }),
  );
}

describe('a host that left without a reset', () => {
  it('is reset again by a scale-down without other changes', () => {
    expect(left().outcome).toEqual({
      kind: 'act',
      effects: [
        {
          kind: 'ask',
          word: 'scaling-down',
          requestId: 'reset-3',
          message: 'trying again to reset 10.0.0.3, which left without a reset',
        },
      ],
    });
  });

  it.each([
    [0, 10],
    [1, 20],
    [3, 80],
    [5, 320],
    [40, 320],
  ])('is tried again, after %i more tries, %i min after the last one', (tries, minutes) => {
    expect(left({ tries, minutes: minutes - 1 }).outcome).toEqual({ kind: 'wait', ms: MINUTE });
    expect(left({ tries, minutes }).signal).toBe('unreset');
  });

  it.each<[string, Parameters<typeof left>[0]]>([
    ['the cluster is paused', { spec: { paused: true } }],
    ['the last operation failed', { phase: 'Failed' }],
    ['its cluster uses it again', { status: { taken: true } }],
    ['another machine has its address', { status: { state: 'Lost' } }],
    ['a plan is named', { marks: { [annotations.plan]: 'abc' } }],
    ['a dry run is asked', { marks: { [annotations.dryRun]: 'All' } }],
  ])('is left alone where %s', (_why, given) => {
    expect(left(given)).toMatchObject({ signal: 'quiet', outcome: { kind: 'rest' } });
  });
});
