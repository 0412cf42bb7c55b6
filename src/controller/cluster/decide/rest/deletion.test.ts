import { describe, expect, it } from 'vitest';
import { decide } from '../table.ts';
import { held, joined, operation, outcome, signal, snapshot, spec } from '../testing/given.fixture.ts';

describe('deletion', () => {
  const removing = { ...operation, name: 'delete' as const, word: 'terminating', step: 'Reset hosts' };
  const deleting = {
    deleted: true,
    hosts: joined,
    operation: removing,
    cluster: { status: { phase: 'Terminating' as const } },
  };

  it('deletes the object if the operation annotation is terminating', () => {
    const given = snapshot({ word: 'terminating' });
    const request = { word: 'terminating', requestId: 'r1', specHash: 'h', operation: 'delete' as const };
    expect(decide({ ...given, request }).outcome).toEqual({
      kind: 'act',
      effects: [{ kind: 'delete-object' }],
    });
  });

  const host = (ip: string, ok: boolean, more = {}) => ({ ip, ok, did: [], ...more });

  it('releases reset hosts, keeps others as Unclean, and releases those after a reset', () => {
    const [first = '', ...others] = joined.map((record) => record.spec.ip);
    const hosts = [host(first, false, { message: 'away' }), ...others.map((ip) => host(ip, true))];
    const attempt = { kind: 'succeeded' as const, report: { success: true, message: '', hosts } };
    const noted = outcome({ ...deleting, attempt });
    expect(noted).toMatchObject({
      effects: [
        { kind: 'note', hosts: [{ ip: first, status: { state: 'Unclean', lastRun: { message: 'away' } } }] },
        { kind: 'release', hosts: others },
      ],
    });
    if (noted.kind !== 'act' || noted.effects[0].kind !== 'note') throw new Error('nothing is noted');
    const status = noted.effects[0].hosts[0]?.status ?? {};
    const unclean = joined.slice(0, 1).map((record) => ({ ...record, status }));
    const plan = snapshot(deleting).plan;
    expect(outcome({ ...deleting, plan, hosts: unclean, attempt })).toMatchObject({
      kind: 'end',
      result: 'finished',
    });
    const clean = { success: true, message: '', hosts: [host(first, true)] };
    expect(
      outcome({ ...deleting, plan, hosts: unclean, attempt: { kind: 'succeeded', report: clean } }),
    ).toMatchObject({ effects: [{ kind: 'release', hosts: [first] }] });
  });

  it('counts hosts without a report as Unclean', () => {
    const report = { success: true, message: '', hosts: [] };
    for (const attempt of [{ kind: 'succeeded' as const }, { kind: 'succeeded' as const, report }])
      expect(outcome({ ...deleting, attempt })).toMatchObject({
        effects: [{ kind: 'note', hosts: [{}, {}, {}].map(() => ({ status: { state: 'Unclean' } })) }],
      });
  });

  it('gives up an Unclean host that was taken again and could not be reset', () => {
    const hosts = joined.map((record) => ({ ...record, status: { state: 'Unclean' as const, taken: true } }));
    const report = { success: true, message: '', hosts: joined.map(({ spec: of }) => host(of.ip, false)) };
    expect(outcome({ ...deleting, hosts, attempt: { kind: 'succeeded', report } })).toMatchObject({
      effects: [
        { kind: 'note', hosts: [{}, {}, {}].map(() => ({ status: { state: 'Unclean', taken: false } })) },
      ],
    });
  });

  it('releases a host that no run ever reached', () => {
    const hosts = held.map(({ spec: of, metadata }) => ({ spec: of, metadata }));
    expect(snapshot({ ...deleting, hosts }).plan).toMatchObject({ hosts: [{}, {}, {}] });
    const report = {
      success: true,
      message: '',
      hosts: hosts.map(({ spec: of }) => host(of.ip, false, { message: 'cannot be reached' })),
    };
    expect(outcome({ ...deleting, hosts, attempt: { kind: 'succeeded', report } })).toMatchObject({
      effects: [{ kind: 'release', hosts: hosts.map(({ spec: of }) => of.ip) }],
    });
  });

  it('sets a host to Lost if another machine answers at its address', () => {
    const report = {
      success: true,
      message: '',
      hosts: joined.map(({ spec: of }) => host(of.ip, false, { message: 'HostChanged: another machine' })),
    };
    expect(outcome({ ...deleting, attempt: { kind: 'succeeded', report } })).toMatchObject({
      effects: [{ kind: 'note', hosts: [{ status: { state: 'Lost' } }, {}, {}] }],
    });
  });

  it('is retried for a new request-id, but not for another operation annotation', () => {
    const failed = { ...removing, result: 'failed' as const, recorded: true };
    const requests = [
      { word: 'terminating', requestId: 'r1', specHash: 'h', sequence: 1, result: 'failed' as const },
    ];
    const status = { phase: 'Failed' as const, requests };
    const given = { ...deleting, operation: failed, word: 'terminate-failed', cluster: { status } };
    expect(signal(given)).toBe('idle');
    expect(signal({ ...given, word: 'scaling-up' })).not.toBe('requested');
    expect(signal({ ...given, requestId: 'r2' })).toBe('deleted');
  });

  it('waits as long as the cluster is paused', () => {
    const late = new Date('2027-01-01T00:00:00.000Z');
    const paused = { status: { phase: 'Terminating' as const }, spec: { ...spec, paused: true } };
    expect(
      signal({ ...deleting, operation: { ...removing, step: 'starting' }, cluster: paused, now: late }),
    ).toBe('paused');
  });
});
