import { describe, expect, it } from 'vitest';
import { specHashOf } from '#operations/spec-hash.ts';
import { creating, held, joined, operation, outcome, signal, spec } from './testing/given.fixture.ts';

describe('the cluster controller', () => {
  it('does nothing without an operation annotation', () => {
    expect(outcome({ binding: { kind: 'unbound' }, adopted: false })).toEqual({ kind: 'rest' });
  });

  it('writes id and finalizer before it accepts a request', () => {
    expect(outcome({ word: 'creating', binding: { kind: 'unbound' }, adopted: false })).toEqual({
      kind: 'act',
      effects: [{ kind: 'bind' }, { kind: 'adopt' }],
    });
    expect(outcome({ word: 'creating' })).toMatchObject({ kind: 'accept', operation: 'create' });
  });

  it('holds every host before a Job starts', () => {
    const accepted = { ...creating, operation };
    expect(outcome(accepted)).toMatchObject({
      kind: 'act',
      effects: [{ kind: 'hold', hosts: [{}, {}, {}] }, { kind: 'record' }, { kind: 'start' }],
    });
    expect(outcome(accepted)).toMatchObject({
      effects: [{}, {}, { kind: 'start', attempt: { job: 'create-abc-1', attempt: 1 } }],
    });
  });

  it('starts the next attempt of an operation when one is lost, at most three', () => {
    const lost = { ...creating, hosts: joined, attempt: { kind: 'lost' as const, why: 'SIGKILL' } };
    expect(outcome({ ...lost, operation: { ...operation, step: 'masters' } })).toMatchObject({
      kind: 'move',
      to: 'Creating',
      operation: { attempt: 2, step: 'starting' },
    });
    expect(outcome({ ...lost, operation: { ...operation, step: 'masters', attempt: 3 } })).toMatchObject({
      kind: 'end',
      result: 'failed',
      reason: 'Lost',
    });
  });

  it('counts an attempt as lost if its pod outlives its termination time', () => {
    const attempt = { kind: 'running' as const, step: 'masters', endsBy: '2026-01-01T00:01:00Z' };
    const given = { ...creating, hosts: joined, attempt, operation: { ...operation, step: 'masters' } };
    expect(outcome(given)).toEqual({ kind: 'wait', ms: 10_000 });
    expect(outcome({ ...given, now: new Date('2026-01-01T00:01:10Z') })).toMatchObject({
      kind: 'move',
      because: expect.stringContaining('node'),
      operation: { attempt: 2, step: 'starting' },
    });
  });

  it('reports no start if the attempt ended before it was seen', () => {
    const seen = { ...creating, operation, hosts: held };
    expect(signal({ ...seen, attempt: { kind: 'succeeded' } })).toBe('succeeded');
    expect(signal({ ...seen, attempt: { kind: 'failed', reason: 'x', message: 'y' } })).toBe('failed');
    expect(signal({ ...seen, attempt: { kind: 'running' } })).toBe('started');
  });

  it('becomes Running only after the kubeconfig is stored', () => {
    const report = { success: true, message: '', hosts: [], kubeconfig: 'users: []' };
    const done = { ...creating, operation: { ...operation, step: 'nodes' }, hosts: joined };
    expect(outcome({ ...done, attempt: { kind: 'succeeded', report } })).toMatchObject({
      effects: [{ kind: 'keep-kubeconfig' }],
    });
    expect(outcome({ ...done, attempt: { kind: 'succeeded' } })).toMatchObject({
      effects: [{ kind: 'start', attempt: { auxiliary: 'fetch' } }],
    });
    expect(
      outcome({ ...done, attempt: { kind: 'succeeded' }, kubeconfig: { kind: 'present' } }),
    ).toMatchObject({
      kind: 'end',
      result: 'finished',
    });
  });

  it('stores the kubeconfig of a new certificate authority', () => {
    const brought = (authority: string) =>
      `clusters: [{cluster: {certificate-authority-data: ${authority}}}]\nusers: [{user: {token: t}}]`;
    const outcomeOf = (authority: string) =>
      outcome({
        ...creating,
        operation: { ...operation, step: 'nodes' },
        hosts: joined,
        kubeconfig: { kind: 'present', authority: 'b2xk' },
        attempt: {
          kind: 'succeeded',
          report: { success: true, message: '', hosts: [], kubeconfig: brought(authority) },
        },
      });
    expect(outcomeOf('bmV3')).toMatchObject({ effects: [{ kind: 'keep-kubeconfig' }] });
    expect(outcomeOf('b2xk')).toMatchObject({ kind: 'end', result: 'finished' });
  });

  it('waits without the plan of the operation, and fails at the deadline', () => {
    const lost = { ...creating, operation, hosts: held, plan: undefined };
    const wait = { kind: 'wait', stall: { reason: 'PlanMissing' } };
    expect(outcome(lost)).toMatchObject(wait);
    const failed = { kind: 'failed' as const, reason: 'x', message: 'y' };
    for (const attempt of [{ kind: 'succeeded' as const }, failed]) {
      expect(outcome({ ...lost, attempt })).toMatchObject(wait);
      const late = { ...lost, attempt, now: new Date('2026-01-01T02:00:00Z') };
      expect(outcome(late)).toMatchObject({ kind: 'end', result: 'failed', reason: 'PlanMissing' });
    }
  });

  it('writes record and result annotation before it accepts another request', () => {
    const ended = {
      operation: { ...operation, result: 'finished' as const },
      cluster: { status: { phase: 'Running' as const } },
    };
    expect(outcome({ word: 'creating', ...ended })).toMatchObject({
      effects: [{ kind: 'record' }, { kind: 'answer', word: 'create-finished', applied: true }],
    });
    expect(signal({ word: 'scaling-up', requestId: 'r2', ...ended })).toBe('result-unrecorded');
    expect(
      signal({
        word: 'create-finished',
        ...ended,
        appliedBy: 1,
        hosts: joined,
        kubeconfig: { kind: 'present' },
      }),
    ).toBe('idle');
  });

  it.each(['failed', 'cancelled'] as const)(
    'completes the record of a %s operation before the next request',
    (result) => {
      const ended = { ...operation, result };
      const next = { word: 'scaling-up', requestId: 'r2', cluster: { status: { phase: 'Failed' as const } } };
      expect(outcome({ ...next, operation: ended })).toMatchObject({
        effects: [{ kind: 'record', result }, { kind: 'recorded' }],
      });
      expect(signal({ ...next, operation: { ...ended, recorded: true } })).not.toBe('result-unrecorded');
    },
  );

  it('writes the result again for a manifest that always says creating', () => {
    const requests = [
      {
        word: 'creating',
        requestId: 'r1',
        specHash: specHashOf(spec),
        sequence: 1,
        result: 'failed' as const,
      },
    ];
    const failed = { ...operation, result: 'failed' as const, recorded: true };
    const given = {
      word: 'creating',
      operation: failed,
      cluster: { status: { phase: 'Failed' as const, requests } },
    };
    expect(outcome(given)).toMatchObject({ effects: [{ kind: 'answer', word: 'create-failed' }] });
    expect(signal({ ...given, requestId: 'r2' })).toBe('requested');
  });

  it('does not run an earlier request again', () => {
    const request = { word: 'creating', specHash: specHashOf(spec), result: 'failed' as const };
    const requests = [
      { ...request, requestId: 'r1', sequence: 1 },
      { ...request, requestId: 'r2', sequence: 2 },
    ];
    const given = {
      word: 'creating',
      operation: { ...operation, sequence: 2, requestId: 'r2', result: 'failed' as const, recorded: true },
      cluster: { status: { phase: 'Failed' as const, requests } },
    };
    expect(outcome({ ...given, requestId: 'r1' })).toEqual({
      kind: 'act',
      effects: [{ kind: 'answer', word: 'create-failed', applied: false }],
    });
    expect(signal({ ...given, requestId: 'r3' })).toBe('requested');
  });

  it('starts only an edit that adds hosts, and only once', () => {
    const running = {
      appliedBy: 1,
      hosts: joined,
      kubeconfig: { kind: 'present' as const },
      word: 'create-finished',
    };
    const more = { cluster: { ...spec.cluster, nodeList: [...spec.cluster.nodeList, { ip: '10.0.0.4' }] } };
    const fewer = { cluster: { ...spec.cluster, nodeList: [{ ip: '10.0.0.2' }] } };
    const tried = [{ word: 'scaling-up', requestId: 'x', specHash: specHashOf(more), sequence: 2 }];
    expect(signal({ ...running, cluster: { spec: more, status: { phase: 'Running' } } })).toBe('spec-edited');
    expect(
      signal({ ...running, cluster: { spec: more, status: { phase: 'Running', requests: tried } } }),
    ).toBe('needs-confirmation');
    expect(signal({ ...running, cluster: { spec: fewer, status: { phase: 'Running' } } })).toBe(
      'needs-confirmation',
    );
  });

  it('asks for a new request-id if the same request already had this one', () => {
    const fewer = { cluster: { ...spec.cluster, nodeList: [{ ip: '10.0.0.2' }] } };
    const requests = [{ word: 'scaling-down', requestId: 'r', specHash: specHashOf(fewer), sequence: 2 }];
    const given = {
      appliedBy: 3,
      hosts: joined,
      kubeconfig: { kind: 'present' as const },
      word: 'scale-up-finished',
      cluster: { spec: fewer, status: { phase: 'Running' as const, requests } },
    };
    const says = (requestId: string) => JSON.stringify(outcome({ ...given, requestId }));
    expect(says('r')).toContain('a new ecs.yun.com/request-id: \\"r\\" was for the same before');
    expect(says('s')).not.toContain('request-id');
    // An operation annotation without a new request-id gets the last answer.
    expect(signal({ ...given, requestId: 'r', word: 'scaling-down' })).toBe('already-done');
  });

  it('deletes in every phase, but not if the cluster-id belongs to another object', () => {
    const busy = { ...creating, operation: { ...operation, step: 'masters' }, hosts: joined, deleted: true };
    expect(outcome(busy)).toMatchObject({ kind: 'accept', operation: 'delete' });
    expect(signal({ ...busy, binding: { kind: 'foreign', to: 'default/other' } })).toBe('identity-conflict');
    expect(signal({ deleted: true, binding: { kind: 'unbound' } })).toBe('nothing-to-reset');
    expect(signal({ ...busy, hosts: [] })).toBe('nothing-to-reset');
  });

  it('adds a host again after its removal, even with an earlier spec', () => {
    const more = { cluster: { ...spec.cluster, nodeList: [...spec.cluster.nodeList, { ip: '10.0.0.4' }] } };
    const requests = [{ word: 'scaling-up', requestId: 'x', specHash: specHashOf(more), sequence: 2 }];
    const given = {
      hosts: joined,
      kubeconfig: { kind: 'present' as const },
      word: 'scale-down-finished',
      cluster: { spec: more, status: { phase: 'Running' as const, requests } },
    };
    expect(signal({ ...given, appliedBy: 3 })).toBe('spec-edited');
    expect(signal({ ...given, appliedBy: 1 })).toBe('needs-confirmation');
  });

  it('does not retry a failed worker without end', () => {
    const more = { cluster: { ...spec.cluster, nodeList: [...spec.cluster.nodeList, { ip: '10.0.0.4' }] } };
    const requests = [{ word: 'scaling-up', requestId: 'x', specHash: specHashOf(more), sequence: 2 }];
    const cluster = { spec: more, status: { phase: 'Running' as const, requests } };
    const given = {
      hosts: joined,
      kubeconfig: { kind: 'present' as const },
      word: 'scale-up-finished',
      cluster,
    };
    expect(signal({ ...given, appliedBy: 2 })).toBe('needs-confirmation');
  });

  it('reports at once why a run cannot start', () => {
    const blocked = { reason: 'ErrImagePull', message: 'not found' };
    const attempt = { kind: 'running' as const, blocked };
    const given = { ...creating, hosts: joined, attempt, operation: { ...operation, step: 'precheck' } };
    expect(outcome(given)).toMatchObject({
      kind: 'wait',
      stall: { reason: 'RunBlocked', message: expect.stringContaining('ErrImagePull: not found') },
    });
    const mend = 'have the image';
    expect(outcome({ ...given, attempt: { ...attempt, blocked: { ...blocked, mend } } })).toMatchObject({
      stall: { message: 'its pod cannot start: ErrImagePull: not found; have the image' },
    });
  });

  it('starts the next attempt if the image of a run was replaced before it started', () => {
    const blocked = { reason: 'ErrImagePull', message: 'not found', outdated: true };
    const attempt = { kind: 'running' as const, blocked };
    const given = { ...creating, hosts: joined, attempt, operation: { ...operation, step: 'precheck' } };
    expect(outcome(given)).toMatchObject({
      kind: 'move',
      because: expect.stringContaining('another image'),
      operation: { attempt: 2, step: 'starting' },
    });
    const last = { ...given, operation: { ...given.operation, attempt: 3 } };
    expect(outcome(last)).toMatchObject({ kind: 'end', reason: 'Lost' });
    const first = { clusterId: 'id1', sequence: 1, attempt: 1, job: 'create-abc-1' };
    const next = { ...operation, attempt: 2 };
    const begun = { ...creating, hosts: joined, attempts: [first], operation: next };
    expect(outcome(begun)).toEqual({ kind: 'act', effects: [{ kind: 'discard', attempts: [first] }] });
  });

  it('reports phase-mismatch if a user edited status', () => {
    expect(signal({ cluster: { status: { phase: 'Creating' } } })).toBe('phase-mismatch');
    expect(signal({ operation, cluster: { status: { phase: 'Running' } } })).toBe('phase-mismatch');
  });
});
