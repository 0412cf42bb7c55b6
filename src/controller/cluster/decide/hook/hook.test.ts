import { describe, expect, it } from 'vitest';
import { annotations } from '#api/names.ts';
import type { AttemptState } from '#installer/installer.ts';
import { hooksOf } from '#operations/hooks.ts';
import { dueHook } from '../due-hook.ts';
import { frozenPlanFrom } from '../frozen-plan.ts';
import {
  creating,
  held,
  joined,
  operation,
  outcome,
  signal,
  snapshot,
  spec,
} from '../testing/given.fixture.ts';

const file = { configMap: 'hooks', key: 'a.yaml', sha256: 'a'.repeat(64) };
const hooks = hooksOf('create', { hooks: { preCreate: [file], postCreate: [file] } });
const offer = { versions: ['v1.34.4'], hooks: true };
const plan = {
  ...snapshot({ ...creating, operation, hosts: held }).plan,
  sequence: 1,
  hosts: [],
  release: [],
  steps: [],
  refusals: [],
  hooks,
};
const running: AttemptState = { kind: 'running' };

/** Returns an operation at that step, with one hook before its run and one after. */
function given(
  step: string,
  state: AttemptState = { kind: 'absent' },
  more: Partial<typeof operation> & { hooksDone?: number } = {},
) {
  const status = { ...operation, step, ...more };
  const due = dueHook(plan, status);
  return {
    ...creating,
    operation: status,
    plan,
    hosts: held,
    offer,
    hook: due && { ...due, state },
  };
}
const cancelledAnnotation = { extraAnnotations: { [annotations.cancel]: operation.id } };
const late = { now: new Date('2026-01-01T02:00:00Z') };

describe('the next hook', () => {
  it.each<[string, string, number | undefined, string | undefined]>([
    ['before the run the first', 'starting', undefined, 'hook-abc-0'],
    ['while it runs, that one', 'Hook preCreate[0]', undefined, 'hook-abc-0'],
    ['once it is done, none: the run is next', 'starting', 1, undefined],
    ['while the run goes on, none', 'Take hosts', 1, undefined],
    ['after the run the next', 'finishing', 1, 'hook-abc-1'],
    ['while that runs, that one', 'Hook postCreate[0]', 1, 'hook-abc-1'],
  ])('is %s', (_what, step, hooksDone, job) => {
    const status = { ...operation, step, ...(hooksDone === undefined ? {} : { hooksDone }) };
    expect(dueHook(plan, status)?.job).toBe(job);
  });

  it('is absent in a plan from before hooks existed', () => {
    const { hooks: _hooks, ...old } = plan;
    expect(frozenPlanFrom(JSON.stringify([old]), 1)?.hooks).toEqual([]);
  });
});

describe('a hook', () => {
  it.each<[string, Parameters<typeof signal>[0], string]>([
    ['is started where none was seen', given('starting'), 'hook-due'],
    [
      'waits while the spec is paused',
      {
        ...given('starting'),
        cluster: {
          status: { phase: 'Creating' },
          spec: { ...spec, paused: true },
        },
      },
      'paused',
    ],
    ['is taken up where it was started', given('starting', running), 'hook-started'],
    ['is followed', given('Hook preCreate[0]', running), 'hook-running'],
    [
      'is counted, late or not',
      { ...given('Hook preCreate[0]', { kind: 'succeeded' }), ...late },
      'hook-done',
    ],
    ['fails', given('Hook preCreate[0]', { kind: 'failed', reason: 'x', message: 'y' }), 'hook-failed'],
    ['that was seen and is gone is not started again', given('Hook preCreate[0]'), 'hook-failed'],
    ['is bounded by the deadline', { ...given('Hook preCreate[0]', running), ...late }, 'deadline-exceeded'],
    ['waits for its turn as long as it takes', { ...given('starting'), ...late }, 'hook-due'],
    [
      'after another has not all of the time again',
      { ...given('finishing', undefined, { hooksDone: 1 }), ...late },
      'deadline-exceeded',
    ],
    [
      'is cut by a cancellation',
      { ...given('Hook preCreate[0]', running), ...cancelledAnnotation },
      'hook-cancelled',
    ],
    [
      'that is done first is done',
      { ...given('Hook preCreate[0]', { kind: 'succeeded' }), ...cancelledAnnotation },
      'hook-done',
    ],
    ['is ended by a deletion', { ...given('Hook preCreate[0]', running), deleted: true }, 'deleted'],
  ])('%s', (_what, state, expected) => {
    expect(signal(state)).toBe(expected);
  });

  it('starts after the Jobs of other hooks are gone', () => {
    const other = { clusterId: 'id1', sequence: 0, attempt: 1, job: 'hook-old-0', auxiliary: 'hook' };
    expect(outcome({ ...given('starting'), attempts: [other] })).toMatchObject({
      effects: [{ kind: 'discard' }],
    });
    const leaving = { ...other, leavesBy: '2026-01-01T00:01:05Z' };
    expect(outcome({ ...given('starting'), attempts: [leaving] })).toEqual({
      kind: 'wait',
      ms: 1_000,
      keepsPlace: true,
    });
    const gone = { ...other, leavesBy: '2026-01-01T00:00:45Z' };
    expect(outcome({ ...given('starting'), attempts: [gone] })).toMatchObject({
      effects: [{ kind: 'record' }, { kind: 'hook', attempt: { auxiliary: 'hook', job: 'hook-abc-0' } }],
    });
  });

  it('ends the operation if the operator allows no hooks', () => {
    const off = { ...given('starting'), offer: { versions: ['v1.34.4'] } };
    expect(outcome(off)).toMatchObject({ kind: 'end', reason: 'HooksOff' });
  });

  it.each<[string, AttemptState, boolean]>([
    ['was lost may have changed hosts', { kind: 'lost', why: 'SIGKILL' }, true],
    [
      'was ended by its deadline may have changed hosts',
      { kind: 'failed', reason: 'DeadlineExceeded', message: '' },
      true,
    ],
    [
      'could not start has changed none',
      { kind: 'running', blocked: { reason: 'ErrImagePull', message: '', outdated: true } },
      false,
    ],
  ])('counts hosts as touched or not: a hook that %s', (_what, state, touched) => {
    const { plan: whole } = snapshot({ ...creating, operation, hosts: held });
    const lost = { ...given('Hook preCreate[0]', state), plan: { ...plan, hosts: whole?.hosts ?? [] } };
    const reported = outcome(lost);
    expect(reported.kind).toBe(touched ? 'act' : 'end');
    const known = lost.hosts.map((one) => ({ ...one, status: { state: 'Held' as const, touched: true } }));
    expect(outcome({ ...lost, hosts: known })).toMatchObject({
      kind: 'end',
      reason: 'HookLost',
    });
  });

  it('is followed by the run, which gets the remaining time', () => {
    expect(outcome(given('Hook preCreate[0]', { kind: 'succeeded' }))).toMatchObject({
      kind: 'move',
      operation: { hooksDone: 1, step: 'starting' },
    });
    // A hook that began and ended unseen starts the time of the operation.
    const unseen = { ...given('starting', { kind: 'succeeded' }), ...late };
    expect(outcome(unseen)).toMatchObject({ operation: { startedAt: late.now.toISOString() } });
    const next = { ...given('starting', undefined, { hooksDone: 1 }), now: new Date('2026-01-01T00:30:00Z') };
    expect(outcome(next)).toMatchObject({
      effects: [{ kind: 'record' }, { kind: 'start', attempt: { deadlineSeconds: 1800 } }],
    });
  });

  it('follows a successful run, and its end completes the operation', () => {
    const ended = { ...given('Take hosts', undefined, { hooksDone: 1 }), hosts: joined };
    const done = { attempt: { kind: 'succeeded' as const }, kubeconfig: { kind: 'present' as const } };
    expect(outcome({ ...ended, ...done })).toMatchObject({ kind: 'move', operation: { step: 'finishing' } });
    const last = given('Hook postCreate[0]', { kind: 'succeeded' }, { hooksDone: 1 });
    expect(outcome(last)).toMatchObject({ kind: 'end', result: 'finished' });
  });

  it('keeps the report of the run before it', () => {
    const run = { clusterId: 'id1', sequence: 1, attempt: 1, job: 'create-abc-1' };
    const after = { ...given('finishing', undefined, { hooksDone: 1 }), attempts: [run] };
    expect(outcome(after)).toMatchObject({ effects: [{ kind: 'hook' }] });
  });

  it('reports the message of its pod as plain text of limited length', () => {
    const message = `bad${String.fromCharCode(27)}[31m ${'x'.repeat(5_000)}`;
    const reported = outcome(given('Hook preCreate[0]', { kind: 'failed', reason: 'Forged', message }));
    expect(reported).toMatchObject({ kind: 'end', reason: 'HookFailed' });
    expect(reported.kind === 'end' && reported.message.length).toBeLessThan(1_200);
    expect(reported.kind === 'end' && /\p{Cc}/u.test(reported.message)).toBe(false);
  });
});
