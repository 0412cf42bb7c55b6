import { describe, expect, it } from 'vitest';
import type { Duty } from '#api/cluster-host.ts';
import { findCondition } from '#api/conditions.ts';
import type { HostRecordStatus } from '#api/host-record.ts';
import type { OperationStatus, Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Phase } from '#api/operation-values.ts';
import type { Health, Snapshot } from '../snapshot.ts';
import { statusAfter } from '../status/status.ts';
import { decide } from '../table.ts';
import { joined, operation, snapshot } from '../testing/given.fixture.ts';

const LEFT_AT = '2026-01-01T00:00:00.000Z';
const MINUTE = 60_000;
const DAY = 24 * 60;

const healthy = (controlPlane: 'True' | 'False' = 'True'): Health => ({
  kind: 'seen',
  verdict: {
    conditions: [
      { type: 'ControlPlaneHealthy', status: controlPlane, reason: 'r', message: 'm' },
      { type: 'EtcdHealthy', status: 'True', reason: 'r', message: 'm' },
    ],
  },
});

interface Given {
  /** Number of operations that did not reach the host since it left. */
  resets?: number;
  minutes?: number;
  status?: HostRecordStatus;
  spec?: Partial<Spec>;
  extraAnnotations?: Record<string, string>;
  phase?: Phase;
  health?: Health;
  duties?: Duty[];
  asked?: Partial<Pick<OperationStatus, 'requestId' | 'requestedBy'>>;
  isRunning?: boolean;
}

/** Returns a cluster at rest, whose second worker was away when operation 2 removed it. */
function left({
  resets = 0,
  minutes = 10,
  status = {},
  spec = {},
  extraAnnotations = {},
  ...more
}: Given = {}): Snapshot {
  const { phase = 'Running', health = healthy(), duties, asked = {}, isRunning = false } = more;
  const [one, two, away] = joined;
  if (!one || !two || !away) throw new Error('the fixture has three hosts');
  const lastRun = { operation: 'scale-down', sequence: 2, attempt: 1, did: [], ok: false, at: LEFT_AT };
  const record = {
    ...away,
    spec: { ...away.spec, ...(duties ? { duties } : {}) },
    status: { state: 'Unclean', touched: true, lastRun, resets, ...status } as const,
  };
  const last = {
    ...operation,
    name: 'scale-down',
    word: 'scaling-down',
    sequence: 2,
  } as const;
  const cluster = { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }] };
  return snapshot({
    now: new Date(Date.parse(LEFT_AT) + minutes * MINUTE),
    word: 'scale-down-finished',
    appliedBy: 2,
    extraAnnotations: extraAnnotations,
    hosts: [one, two, record],
    operation: { ...last, ...asked, ...(isRunning ? {} : { result: 'finished' }) },
    kubeconfig: { kind: 'present' },
    health,
    cluster: { spec: { cluster, ...spec }, status: { phase } },
  });
}

describe('a host that left without a reset', () => {
  it('is reset by a scale-down that no annotation requests', () => {
    const { signal, outcome } = decide(left());
    expect(signal).toBe('reset-due');
    expect(outcome).toMatchObject({
      kind: 'accept',
      operation: 'scale-down',
      request: { word: 'scaling-down', requestId: 'reset-3' },
      requestedBy: 'remediation',
    });
  });

  it.each<[number, number, Duty]>([
    [0, 10, 'worker'],
    [1, 20, 'worker'],
    [4, 160, 'worker'],
    [5, DAY, 'control-plane'],
    [40, DAY, 'control-plane'],
  ])('is retried after %i more tries, %i min after the last one', (resets, minutes, duty) => {
    const duties: Duty[] = [duty];
    expect(decide(left({ resets, duties, minutes: minutes - 1 })).outcome).toEqual({
      kind: 'wait',
      ms: MINUTE,
    });
    expect(decide(left({ resets, duties, minutes })).signal).toBe('reset-due');
  });

  it.each<[string, Given]>([
    ['it is a worker, and was tried often', { resets: 5, minutes: 10 * DAY }],
    ['the cluster is paused', { spec: { paused: true } }],
    ['the last operation failed', { phase: 'Failed' }],
    ['its cluster uses it again', { status: { taken: true } }],
    ['another machine has its address', { status: { state: 'Lost' } }],
    ['a plan is named', { extraAnnotations: { [annotations.plan]: 'abc' } }],
    ['a dry run is asked', { extraAnnotations: { [annotations.dryRun]: 'All' } }],
    ['a control plane is away', { health: healthy('False') }],
    ['nobody looks at the cluster', { health: { kind: 'off' } }],
    [
      'the scale-down has a hook, which runs as root',
      { spec: { hooks: { preScaleDown: [{ configMap: 'c', key: 'k', sha256: 'a'.repeat(64) }] } } },
    ],
  ])('is not reset if %s', (_why, given) => {
    expect(decide(left(given))).toMatchObject({ signal: 'idle', outcome: { kind: 'rest' } });
  });
});

it('keeps a cluster Running and not Stalled if a retry fails', () => {
  const ours = { requestId: 'reset-2', requestedBy: 'remediation' };
  const before = left({ asked: ours, isRunning: true });
  const end = { kind: 'end', result: 'failed', reason: 'r', message: 'm' } as const;
  const { phase, conditions } = statusAfter(before, end);
  expect([phase, findCondition(conditions, 'Stalled')]).toEqual(['Running', undefined]);
  const users = left({ isRunning: true });
  expect(statusAfter(users, end).phase).toBe('Failed');
});
