import { describe, expect, it } from 'vitest';
import type { ClusterStatus, OperationStatus, Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Snapshot } from '../snapshot.ts';
import { decide } from '../table.ts';
import { operation, recordsOf, snapshot } from '../testing/given.fixture.ts';
import { snapshotDueAt, snapshotsCondition } from './scheduled-snapshot.ts';

const HOUR = 3_600_000;
const { now } = snapshot({});
const ago = (hours: number) => new Date(now.getTime() - hours * HOUR).toISOString();
const EACH_HOUR = '0 * * * *';

interface Given {
  schedule?: string | undefined;
  /** Age of the newest snapshot in hours; null: there is none. */
  newest?: number | null;
  /** The last operation was a snapshot that failed so many hours ago. */
  failed?: number;
  made?: number;
  spec?: Partial<Spec>;
  extraAnnotations?: Record<string, string>;
}

/** Returns a created cluster at rest with a schedule. */
function at({
  schedule = EACH_HOUR,
  newest = 3,
  failed,
  made = 100,
  spec = {},
  extraAnnotations = {},
}: Given = {}): Snapshot {
  const cluster: Spec['cluster'] = { masterList: [{ ip: '10.0.0.1' }] };
  const ended: OperationStatus = {
    ...operation,
    ...({ step: 'done', result: 'finished', recorded: true, spec: { cluster: {} } } as const),
    ...(failed === undefined
      ? {}
      : ({
          name: 'snapshot',
          word: 'snapshotting',
          result: 'failed',
          endedAt: ago(failed),
        } as const)),
  };
  const etcdSnapshots: ClusterStatus['etcdSnapshots'] =
    newest === null ? undefined : { stored: [{ name: 'x', createdAt: ago(newest), size: 1 }] };
  const given = snapshot({
    word: failed === undefined ? 'create-finished' : 'snapshot-failed',
    extraAnnotations,
    appliedBy: 1,
    cluster: {
      spec: { cluster, etcdSnapshots: { schedule }, ...spec },
      status: { phase: 'Running', operation: ended, ...(etcdSnapshots ? { etcdSnapshots } : {}) },
    },
    hosts: recordsOf({ cluster }, 'Joined'),
    operation: ended,
    kubeconfig: { kind: 'present' },
  });
  const metadata = { ...given.cluster.metadata, creationTimestamp: ago(made) };
  return { ...given, cluster: { ...given.cluster, metadata } };
}

describe('a cluster with a schedule of each hour', () => {
  it('requests a snapshot if the last one is three hours old', () => {
    expect(decide(at())).toEqual({
      signal: 'snapshot-due',
      outcome: {
        kind: 'act',
        effects: [{ kind: 'ask-upkeep', operation: 'snapshot', requestId: 'schedule-2' }],
      },
    });
  });

  it('requests one also while an edit waits for a user', () => {
    const waits: Partial<Spec> = { cluster: { masterList: [{ ip: '10.0.0.1' }], kubeVersion: 'v1.34.5' } };
    expect(decide(at({ spec: waits })).signal).toBe('snapshot-due');
  });

  it('waits for the next time after a snapshot, at most some minutes longer', () => {
    const due = snapshotDueAt(at({ newest: 0 }))?.getTime() ?? 0;
    const hour = Math.floor(now.getTime() / HOUR) * HOUR + HOUR;
    expect(due).toBeGreaterThanOrEqual(hour);
    expect(due).toBeLessThan(hour + 600_000);
    expect(decide(at({ newest: 0 })).outcome).toMatchObject({ kind: 'wait' });
  });

  it('is not asked to save again for half an hour after a failure', () => {
    expect(snapshotDueAt(at({ failed: 0.25 }))).toEqual(new Date(now.getTime() + HOUR / 4));
    expect(decide(at({ failed: 1 })).signal).toBe('snapshot-due');
    const asked = { [annotations.snapshotAskedAt]: ago(0) };
    expect(snapshotDueAt(at({ extraAnnotations: asked }))).toEqual(new Date(now.getTime() + HOUR / 2));
  });

  it('does not wait for a time that only a clock which was ahead has named', () => {
    expect(decide(at({ newest: -300 })).signal).toBe('snapshot-due');
    // Saved just now, on a host whose clock is still ahead.
    const asked = { [annotations.snapshotAskedAt]: ago(0) };
    const due = snapshotDueAt(at({ newest: -300, extraAnnotations: asked }));
    expect(due?.getTime()).toBeGreaterThan(now.getTime());
    expect(due?.getTime()).toBeLessThan(now.getTime() + 2 * HOUR);
  });

  it.each<[string, Given]>([
    ['is paused', { spec: { paused: true } }],
    ['has no valid schedule', { schedule: 'never' }],
  ])('saves nothing if it %s', (_what, given) => {
    expect(snapshotDueAt(at(given))).toBeUndefined();
  });

  it.each<[string, Given, object]>([
    ['has a snapshot', { newest: 0.5 }, { status: 'True', reason: 'Current' }],
    ['missed one', { newest: 1.5 }, { status: 'True', reason: 'Current' }],
    ['missed two', { newest: 4 }, { status: 'False', reason: 'TooOld' }],
    ['is new', { newest: null, made: 0.5 }, { status: 'True', reason: 'Waiting' }],
    ['never had one', { newest: null }, { status: 'False', reason: 'NoSnapshot' }],
  ])('says so if it %s', (_what, given, stated) => {
    expect(snapshotsCondition({ ...at(given) })).toMatchObject(stated);
  });
});

it('has no condition without a schedule', () => {
  const given = at();
  const { etcdSnapshots: _none, ...spec } = given.cluster.spec;
  expect(snapshotsCondition({ ...given, cluster: { ...given.cluster, spec } })).toBeUndefined();
});
