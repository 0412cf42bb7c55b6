import { describe, expect, it } from 'vitest';
import { stateOf } from '#api/host-record.ts';
import { annotations } from '#api/names.ts';
import type { AttemptState } from '#installer/installer.ts';
import type { Report } from '#protocol/report.ts';
import { statusAfter } from '../status/status.ts';
import {
  creating,
  held,
  joined,
  operation,
  outcome,
  recordsOf,
  signal,
  snapshot,
  spec,
} from '../testing/given.fixture.ts';

const extraAnnotations = { [annotations.cancel]: operation.id, [annotations.cancelledBy]: 'alice' };
const running: AttemptState = { kind: 'running', step: 'Join hosts' };
const [at, before, past] = [
  '2026-01-01T00:00:30.000Z',
  new Date('2026-01-01T00:01:00Z'),
  new Date('2026-01-01T00:02:01Z'),
];
const works = { ...operation, step: 'Join hosts' };
const reported = { ...works, cancelledAt: at, cancelledBy: 'alice' };
const report: Report = {
  success: false,
  reason: 'Cancelled',
  message: 'it stopped at step "Join hosts"',
  hosts: [
    { ip: '10.0.0.1', ok: true, did: ['taken', 'prepared', 'joined'] },
    { ip: '10.0.0.2', ok: false, did: ['taken', 'prepared'] },
    { ip: '10.0.0.3', ok: false, did: [], machineId: 'm3' },
  ],
};
const stopped: AttemptState = { kind: 'failed', reason: 'Cancelled', message: report.message, report };

describe('a cancelled operation', () => {
  it.each([
    [
      'that has not begun ends at once',
      { operation, extraAnnotations: extraAnnotations },
      'cancelled-before-run',
    ],
    [
      'that is paused ends as well',
      { operation, extraAnnotations: extraAnnotations, paused: true },
      'cancelled-before-run',
    ],
    [
      'whose run is not told yet',
      { operation: works, extraAnnotations: extraAnnotations, attempt: running },
      'cancelled',
    ],
    [
      'whose run was not seen yet',
      { operation, extraAnnotations: extraAnnotations, attempt: running },
      'cancelled',
    ],
    ['whose run is gone', { operation: works, extraAnnotations: extraAnnotations }, 'cancelled'],
    [
      'whose run was told',
      { operation: reported, extraAnnotations: extraAnnotations, attempt: running },
      'stopping',
    ],
    ['stays cancelled without its annotation', { operation: reported, attempt: running }, 'stopping'],
    [
      'whose run does not report',
      { operation: reported, extraAnnotations: extraAnnotations, attempt: running, now: past },
      'stop-overdue',
    ],
    [
      'whose run resets hosts, which is finished first',
      {
        operation: { ...reported, name: 'scale-down', step: 'Reset hosts' },
        extraAnnotations: extraAnnotations,
        attempt: running,
        now: past,
      },
      'stopping',
    ],
    [
      'whose run is lost',
      { operation: reported, extraAnnotations: extraAnnotations, attempt: { kind: 'lost', why: '' } },
      'stop-overdue',
    ],
    [
      'whose run ended just now, and whose report may come',
      {
        operation: reported,
        extraAnnotations: extraAnnotations,
        attempt: { kind: 'lost', why: '', endedAt: '2026-01-01T00:00:58Z' },
      },
      'stopping',
    ],
    [
      'whose pod cannot start',
      {
        operation: reported,
        extraAnnotations: extraAnnotations,
        attempt: { ...running, blocked: { reason: '', message: '' } },
      },
      'stop-overdue',
    ],
    [
      'whose run was done first',
      { operation: reported, extraAnnotations: extraAnnotations, attempt: { kind: 'succeeded' } },
      'succeeded',
    ],
    [
      'whose run reported',
      { operation: reported, extraAnnotations: extraAnnotations, attempt: stopped },
      'failed',
    ],
    [
      'is another',
      { operation: works, extraAnnotations: { [annotations.cancel]: 'other' }, attempt: running },
      'running',
    ],
    [
      'is a deletion',
      { operation: { ...works, name: 'delete' }, extraAnnotations: extraAnnotations, attempt: running },
      'running',
    ],
  ] as const)(
    '%s',
    (_what, { paused, ...given }: Parameters<typeof signal>[0] & { paused?: boolean }, expected) => {
      const cluster = { ...creating.cluster, ...(paused ? { spec: { ...spec, paused } } : {}) };
      expect(signal({ ...creating, hosts: joined, ...given, cluster })).toBe(expected);
    },
  );

  it('notifies its run to stop, and records user and time', () => {
    expect(
      outcome({
        ...creating,
        hosts: held,
        extraAnnotations: extraAnnotations,
        operation: works,
        attempt: running,
        now: before,
      }),
    ).toEqual({
      kind: 'move',
      to: 'Creating',
      because: 'cancelled by alice at step Join hosts: the run is notified to stop',
      operation: { cancelledAt: before.toISOString(), cancelledBy: 'alice' },
    });
  });

  it('records how far each host came, then ends with that message', () => {
    const given = {
      ...creating,
      hosts: held,
      extraAnnotations: extraAnnotations,
      operation: reported,
      attempt: stopped,
    };
    const noted = outcome(given);
    expect(noted).toMatchObject({
      effects: [
        {
          kind: 'note',
          hosts: [
            { ip: '10.0.0.1', status: { state: 'Joined', touched: true } },
            { ip: '10.0.0.2', status: { state: 'Held', touched: true } },
            { ip: '10.0.0.3', status: { state: 'Held' } },
          ],
        },
      ],
    });
    const effects = noted.kind === 'act' ? noted.effects : [];
    const [note] = effects.flatMap((one) => (one.kind === 'note' ? [one.hosts] : []));
    const hosts = held.map((record, index) => ({
      ...record,
      status: { ...record.status, ...note?.[index]?.status },
    }));
    expect(hosts.map(stateOf)).toEqual(['Joined', 'Held', 'Held']);
    expect(outcome({ ...given, hosts })).toEqual({
      kind: 'end',
      result: 'cancelled',
      reason: 'Cancelled',
      message:
        'cancelled by alice: it stopped at step "Join hosts"; 10.0.0.1: joined; ' +
        '10.0.0.2: taken, prepared, not joined; 10.0.0.3: nothing done, not joined',
    });
  });

  it('has failed if its run failed for another reason first', () => {
    const report = { success: false, message: 'away', hosts: [] };
    const failed: AttemptState = { kind: 'failed', reason: 'HostUnreachable', message: 'away', report };
    expect(
      outcome({
        ...creating,
        hosts: held,
        extraAnnotations: extraAnnotations,
        operation: reported,
        attempt: failed,
      }),
    ).toMatchObject({
      result: 'failed',
      reason: 'HostUnreachable',
    });
  });

  it('counts its hosts as touched, then ends, if its run does not report', () => {
    const ref = { clusterId: 'id1', sequence: 1, attempt: 1, job: 'create-abc-1' };
    const given = {
      ...creating,
      extraAnnotations: extraAnnotations,
      operation: reported,
      attempt: running,
      attempts: [ref],
      now: past,
    };
    const touched = held.map(({ spec: { ip } }) => ({ ip, status: { touched: true } }));
    expect(outcome({ ...given, hosts: held })).toEqual({
      kind: 'act',
      effects: [
        { kind: 'note', hosts: touched },
        { kind: 'discard', attempts: [ref] },
      ],
    });
    const after = { ...given, hosts: recordsOf(spec, 'Held', { touched: true }), attempts: [] };
    expect(outcome({ ...after, attempt: { kind: 'absent' } })).toMatchObject({
      kind: 'end',
      result: 'cancelled',
      message: expect.stringContaining('each of its hosts counts as changed'),
    });
  });

  it('leaves the cluster Stalled with a summary of how to continue', () => {
    const given = { ...creating, extraAnnotations: extraAnnotations, operation, hosts: held };
    const {
      phase,
      reason,
      summary,
      conditions,
      operation: ended,
    } = statusAfter(snapshot(given), outcome(given));
    expect([phase, reason, summary, ended?.result]).toEqual([
      'Failed',
      'Cancelled',
      'create cancelled: set "creating" and a new request-id to go on',
      'cancelled',
    ]);
    expect(conditions).toContainEqual(
      expect.objectContaining({
        type: 'Stalled',
        reason: 'Cancelled',
        message: 'cancelled by alice: no host was changed',
      }),
    );
    const cluster = { status: { phase: 'Failed' as const } };
    const over = { ...given, cluster, operation: { ...operation, result: 'cancelled' as const } };
    expect(outcome(over)).toMatchObject({ effects: [{ kind: 'record' }, { kind: 'recorded' }] });
    const recorded = { ...over, operation: { ...over.operation, recorded: true } };
    expect(outcome(recorded)).toMatchObject({
      effects: [{ kind: 'answer', word: 'create-cancelled', applied: false }],
    });
  });
});
