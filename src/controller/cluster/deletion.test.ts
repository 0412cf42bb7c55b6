import { describe, expect, it } from 'vitest';
import { claims, operation, outcome, signal, snapshot, spec } from './given.ts';
import { decide } from './lifecycle.ts';

describe('deletion', () => {
  const removing = { ...operation, name: 'delete' as const, word: 'terminating', step: 'Reset hosts' };
  const deleting = {
    deleted: true,
    claims,
    operation: removing,
    cluster: { status: { phase: 'Terminating' as const } },
  };

  it('is a DELETE of the object when it is asked by word', () => {
    const given = snapshot({ word: 'terminating' });
    const request = { word: 'terminating', requestId: 'r1', specHash: 'h', operation: 'delete' as const };
    expect(decide({ ...given, request }).outcome).toEqual({
      kind: 'act',
      effects: [{ kind: 'delete-object' }],
    });
  });

  it('releases what was reset, remembers what was not, and releases that too once it was', () => {
    const [first, ...others] = claims;
    const hosts = [{ ip: first?.host.ip ?? '', ok: false, message: 'away' }];
    const attempt = { kind: 'succeeded' as const, report: { success: true, message: '', hosts } };
    expect(outcome({ ...deleting, claims, attempt })).toMatchObject({
      effects: [
        { kind: 'taint', hosts: [{ ip: first?.host.ip, why: 'away' }] },
        { kind: 'release', hosts: others.map(({ host }) => host.ip) },
      ],
    });
    const unclean = claims.slice(0, 1).map((claim) => ({ ...claim, state: 'unclean' as const }));
    expect(outcome({ ...deleting, claims: unclean, attempt })).toMatchObject({
      kind: 'move',
      operation: { result: 'finished' },
    });
    const clean = { kind: 'succeeded' as const, report: { success: true, message: '', hosts: [] } };
    expect(outcome({ ...deleting, claims: unclean, attempt: clean })).toMatchObject({
      effects: [{ kind: 'release' }],
    });
  });

  it('lets no host pass for clean when the report was lost', () => {
    expect(outcome({ ...deleting, claims, attempt: { kind: 'succeeded' } })).toMatchObject({
      effects: [{ kind: 'taint', hosts: [{}, {}, {}] }],
    });
  });

  it('is retried once for each new request-id, whatever word stands beside it', () => {
    const failed = { ...removing, result: 'failed' as const };
    const requests = [
      { word: 'terminating', requestId: 'r1', specHash: 'h', sequence: 1, result: 'failed' as const },
    ];
    const status = { phase: 'Failed' as const, requests };
    const given = { ...deleting, operation: failed, word: 'terminate-failed', cluster: { status } };
    expect(signal(given)).toBe('quiet');
    expect(signal({ ...given, word: 'scaling-up' })).not.toBe('asked');
    expect(signal({ ...given, requestId: 'r2' })).toBe('deleted');
  });

  it('is held by a pause for as long as it lasts', () => {
    const late = new Date('2027-01-01T00:00:00.000Z');
    const paused = { status: { phase: 'Terminating' as const }, spec: { ...spec, paused: true } };
    expect(
      signal({ ...deleting, operation: { ...removing, step: 'starting' }, cluster: paused, now: late }),
    ).toBe('paused');
  });
});
