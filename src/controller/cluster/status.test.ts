import { describe, expect, it } from 'vitest';
import { claims, operation, outcome, resolved, signal, snapshot } from './given.ts';
import type { Snapshot } from './snapshot.ts';
import { statusAfter } from './status.ts';

describe('status', () => {
  it('takes a report of any length', () => {
    const status = { phase: 'Creating' as const, operation };
    const after = statusAfter(snapshot({ cluster: { status }, operation }), {
      kind: 'fail',
      reason: 'X',
      message: 'y'.repeat(40_000),
    });
    expect(after.message?.length).toBeLessThanOrEqual(4096);
  });

  it('is equal to the present one when there is nothing new to say', () => {
    const given = snapshot({
      word: 'creating',
      operation,
      claims,
      ...{ cluster: { status: { phase: 'Creating', operation } } },
    });
    const first = statusAfter(given, { kind: 'rest' });
    const second = statusAfter(
      { ...given, cluster: { ...given.cluster, status: first }, now: new Date() },
      { kind: 'rest' },
    );
    expect(second).toEqual(first);
  });

  it('keeps Ready through a failed scale-up, and says Stalled', () => {
    const status = { phase: 'Scaling' as const, operation: { ...operation, name: 'scale-up' as const } };
    const given = snapshot({ cluster: { status }, applied: resolved, operation: status.operation });
    const after = statusAfter(given, { kind: 'fail', reason: 'HostUnreachable', message: '10.0.0.4' });
    expect(after.phase).toBe('Failed');
    expect(after.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'Ready=True',
      'Stalled=True',
    ]);
  });

  it('is Stalled no more once the spec is again what is there', () => {
    const failed = { ...operation, name: 'scale-up' as const, result: 'failed' as const };
    const cluster = { status: { phase: 'Failed' as const, operation: failed } };
    const joined = claims.map((claim) => ({ ...claim, state: 'joined' as const }));
    const given = { applied: resolved, operation: failed, cluster };
    const stalled = (claimed: Snapshot['claims']) =>
      statusAfter(snapshot({ ...given, claims: claimed }), { kind: 'rest' }).conditions?.some(
        ({ type }) => type === 'Stalled',
      );
    expect(stalled(joined)).toBe(false);
    // A host that the failed operation has claimed is still there.
    expect(stalled(joined.slice(1))).toBe(true);
  });

  it('names what is wrong with a spec, without an operation', () => {
    const problems = [{ field: 'spec.cluster.podCIDR', reason: 'is no CIDR' }];
    const given = { word: 'creating', problems, malformed: true };
    expect(outcome(given)).toEqual({
      kind: 'rest',
      stall: { reason: 'InvalidSpec', message: 'spec.cluster.podCIDR is no CIDR' },
    });
    expect(signal({ ...given, claims, deleted: true })).toBe('deleted');
    expect(signal({ ...given, malformed: false })).toBe('asked');
    const edited = { problems, word: 'create-finished', applied: resolved };
    expect(signal({ ...edited, cluster: { status: { phase: 'Running' } } })).toBe('invalid');
  });
});
