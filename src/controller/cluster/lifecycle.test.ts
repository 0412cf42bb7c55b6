import { describe, expect, it } from 'vitest';
import { specHashOf } from '#operations/spec-hash.ts';
import { claims, creating, operation, outcome, resolved, signal, spec } from './given.ts';

describe('the life of a cluster', () => {
  it('does nothing for an object without a word', () => {
    expect(outcome({ binding: { kind: 'unbound' }, adopted: false })).toEqual({ kind: 'rest' });
  });

  it('binds and adopts before it accepts', () => {
    expect(outcome({ word: 'creating', binding: { kind: 'unbound' }, adopted: false })).toEqual({
      kind: 'act',
      effects: [{ kind: 'bind' }, { kind: 'adopt' }],
    });
    expect(outcome({ word: 'creating' })).toMatchObject({ kind: 'accept', operation: 'create' });
  });

  it('claims every host before a Job starts', () => {
    const accepted = { ...creating, operation };
    expect(outcome(accepted)).toMatchObject({
      kind: 'act',
      effects: [{ kind: 'claim', hosts: [{}, {}, {}] }, { kind: 'record' }, { kind: 'start' }],
    });
    expect(outcome({ ...accepted, claims })).toMatchObject({
      kind: 'act',
      effects: [{ kind: 'record' }, { kind: 'start', attempt: { job: 'create-abc-1', attempt: 1 } }],
    });
  });

  it('starts the next attempt of the same sequence when one is lost, at most three', () => {
    const lost = { ...creating, claims, attempt: { kind: 'lost' as const, why: 'SIGKILL' } };
    expect(outcome({ ...lost, operation: { ...operation, step: 'masters' } })).toMatchObject({
      kind: 'move',
      to: 'Creating',
      operation: { attempt: 2, step: 'starting' },
    });
    expect(outcome({ ...lost, operation: { ...operation, step: 'masters', attempt: 3 } })).toMatchObject({
      kind: 'fail',
      reason: 'Lost',
    });
  });

  it('counts an attempt as lost when its pod outlives its end, because its node is away', () => {
    const attempt = { kind: 'running' as const, step: 'masters', endsBy: '2026-01-01T00:01:00Z' };
    const given = { ...creating, claims, attempt, operation: { ...operation, step: 'masters' } };
    expect(outcome(given)).toEqual({ kind: 'wait', ms: 10_000 });
    expect(outcome({ ...given, now: new Date('2026-01-01T00:01:10Z') })).toMatchObject({
      kind: 'move',
      because: expect.stringContaining('node'),
      operation: { attempt: 2, step: 'starting' },
    });
  });

  it('says nothing of a start when the attempt was over before it was seen', () => {
    const seen = { ...creating, operation, claims };
    expect(signal({ ...seen, attempt: { kind: 'succeeded' } })).toBe('succeeded');
    expect(signal({ ...seen, attempt: { kind: 'failed', reason: 'x', message: 'y' } })).toBe('failed');
    expect(signal({ ...seen, attempt: { kind: 'running' } })).toBe('started');
  });

  it('is Running only once the kubeconfig is kept', () => {
    const report = { success: true, message: '', hosts: [], kubeconfig: 'users: []' };
    const joined = claims.map((claim) => ({ ...claim, state: 'joined' as const }));
    const done = { ...creating, operation: { ...operation, step: 'nodes' }, claims: joined };
    expect(outcome({ ...done, attempt: { kind: 'succeeded', report } })).toMatchObject({
      effects: [{ kind: 'keep-access' }],
    });
    expect(outcome({ ...done, attempt: { kind: 'succeeded' } })).toMatchObject({
      effects: [{ kind: 'start', attempt: { operation: 'fetch' } }],
    });
    expect(
      outcome({ ...done, attempt: { kind: 'succeeded' }, kubeconfig: { kind: 'present' } }),
    ).toMatchObject({
      kind: 'move',
      to: 'Running',
      operation: { result: 'finished' },
    });
  });

  it('makes the second write before anything else is accepted', () => {
    const ended = {
      operation: { ...operation, result: 'finished' as const },
      cluster: { status: { phase: 'Running' as const } },
    };
    expect(outcome({ word: 'creating', ...ended })).toMatchObject({
      effects: [{ kind: 'record' }, { kind: 'answer', word: 'create-finished', applied: true }],
    });
    expect(signal({ word: 'scaling-up', requestId: 'r2', ...ended })).toBe('ended');
    expect(
      signal({ word: 'create-finished', ...ended, applied: resolved, kubeconfig: { kind: 'present' } }),
    ).toBe('quiet');
  });

  it('answers a manifest that says creating for ever', () => {
    const requests = [
      {
        word: 'creating',
        requestId: 'r1',
        specHash: specHashOf(spec),
        sequence: 1,
        result: 'failed' as const,
      },
    ];
    const failed = { ...operation, result: 'failed' as const };
    const given = {
      word: 'creating',
      operation: failed,
      cluster: { status: { phase: 'Failed' as const, requests } },
    };
    expect(outcome(given)).toMatchObject({ effects: [{}, { kind: 'answer', word: 'create-failed' }] });
    expect(signal({ ...given, requestId: 'r2' })).toBe('asked');
  });

  it('does not run a request again that others have followed', () => {
    const request = { word: 'creating', specHash: specHashOf(spec), result: 'failed' as const };
    const requests = [
      { ...request, requestId: 'r1', sequence: 1 },
      { ...request, requestId: 'r2', sequence: 2 },
    ];
    const given = {
      word: 'creating',
      operation: { ...operation, sequence: 2, requestId: 'r2', result: 'failed' as const },
      cluster: { status: { phase: 'Failed' as const, requests } },
    };
    expect(outcome({ ...given, requestId: 'r1' })).toEqual({
      kind: 'act',
      effects: [{ kind: 'answer', word: 'create-failed', applied: false }],
    });
    expect(signal({ ...given, requestId: 'r3' })).toBe('asked');
  });

  it('infers only what adds, and only once', () => {
    const running = { applied: resolved, kubeconfig: { kind: 'present' as const }, word: 'create-finished' };
    const more = { cluster: { ...spec.cluster, nodeList: [...spec.cluster.nodeList, { ip: '10.0.0.4' }] } };
    const fewer = { cluster: { ...spec.cluster, nodeList: [{ ip: '10.0.0.2' }] } };
    const tried = [{ word: 'scaling-up', requestId: 'x', specHash: specHashOf(more), sequence: 2 }];
    expect(signal({ ...running, cluster: { spec: more, status: { phase: 'Running' } } })).toBe('declared');
    expect(
      signal({ ...running, cluster: { spec: more, status: { phase: 'Running', requests: tried } } }),
    ).toBe('unconfirmed');
    expect(signal({ ...running, cluster: { spec: fewer, status: { phase: 'Running' } } })).toBe(
      'unconfirmed',
    );
  });

  it('deletes in every phase, and never in the name of another', () => {
    const busy = { ...creating, operation: { ...operation, step: 'masters' }, claims, deleted: true };
    expect(outcome(busy)).toMatchObject({ kind: 'accept', operation: 'delete' });
    expect(signal({ ...busy, binding: { kind: 'foreign', to: 'default/other' } })).toBe('conflict');
    expect(signal({ deleted: true, binding: { kind: 'unbound' } })).toBe('forgotten');
    expect(signal({ ...busy, claims: [] })).toBe('forgotten');
  });
});
