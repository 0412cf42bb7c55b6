import { describe, expect, it } from 'vitest';
import { withoutHosts } from '#api/cluster-facts.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import type { Snapshot } from '../snapshot.ts';
import { decide } from '../table.ts';
import {
  held,
  joined,
  operation,
  outcome,
  recordsOf,
  resolved,
  signal,
  snapshot,
  spec,
} from '../testing/given.fixture.ts';
import { statusAfter } from './status.ts';

describe('status', () => {
  it('limits the length of a message', () => {
    const status = { phase: 'Creating' as const, operation };
    const after = statusAfter(snapshot({ cluster: { status }, operation }), {
      kind: 'end',
      result: 'failed',
      reason: 'X',
      message: 'y'.repeat(40_000),
    });
    expect(after.message?.length).toBeLessThanOrEqual(4096);
  });

  it('stays equal if nothing changed', () => {
    const given = snapshot({
      word: 'creating',
      operation,
      hosts: held,
      ...{ cluster: { status: { phase: 'Creating', operation } } },
    });
    const first = statusAfter(given, { kind: 'rest' });
    const second = statusAfter(
      { ...given, cluster: { ...given.cluster, status: first }, now: new Date() },
      { kind: 'rest' },
    );
    expect(second).toEqual(first);
  });

  it('keeps Ready after a failed scale-up, and sets Stalled', () => {
    const status = { phase: 'Scaling' as const, operation: { ...operation, name: 'scale-up' as const } };
    const hosts = [...joined, ...recordsOf({ cluster: { nodeList: [{ ip: '10.0.0.4' }] } }, 'Held')];
    const given = snapshot({ cluster: { status }, appliedBy: 1, hosts, operation: status.operation });
    const end = { kind: 'end', result: 'failed', reason: 'HostUnreachable', message: '10.0.0.4' } as const;
    const after = statusAfter(given, end);
    expect(after.phase).toBe('Failed');
    expect(after.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'Ready=True',
      'UpToDate=False',
      'Stalled=True',
    ]);
  });

  it('clears Stalled once the spec matches the hosts again', () => {
    const failed = { ...operation, name: 'scale-up' as const, result: 'failed' as const };
    const cluster = { status: { phase: 'Failed' as const, operation: failed } };
    const given = { appliedBy: 0, operation: failed, cluster };
    const stalled = (hosts: Snapshot['hosts']) =>
      statusAfter(snapshot({ ...given, hosts }), { kind: 'rest' }).conditions?.some(
        ({ type }) => type === 'Stalled',
      );
    expect(stalled(joined)).toBe(false);
    // A host that the failed operation held is still held.
    const more = recordsOf({ cluster: { nodeList: [{ ip: '10.0.0.4' }] } }, 'Held');
    expect(stalled([...joined, ...more])).toBe(true);
  });

  it('names the problems of a spec without starting an operation', () => {
    const problems = [{ field: 'spec.cluster.podCIDR', reason: 'is no CIDR' }];
    const given = { word: 'creating', problems, malformed: true };
    expect(outcome(given)).toEqual({
      kind: 'rest',
      stall: { reason: 'InvalidSpec', message: 'spec.cluster.podCIDR is no CIDR' },
    });
    expect(signal({ ...given, hosts: held, deleted: true })).toBe('deleted');
    expect(signal({ ...given, malformed: false })).toBe('requested');
    const edited = { problems, word: 'create-finished', appliedBy: 1, hosts: joined };
    expect(signal({ ...edited, cluster: { status: { phase: 'Running' } } })).toBe('invalid');
  });

  it('summarizes the required action, and sets UpToDate to False', () => {
    const wanted = { cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }] } };
    const given = snapshot({
      word: 'create-finished',
      appliedBy: 1,
      hosts: joined,
      kubeconfig: { kind: 'present' },
      cluster: { spec: wanted, status: { phase: 'Running' } },
    });
    const after = statusAfter(given, decide(given).outcome);
    expect(after.summary).toBe('NeedsConfirmation: confirm the change');
    expect(after.conditions).toContainEqual(
      expect.objectContaining({
        type: 'UpToDate',
        status: 'False',
        message: expect.stringMatching(/"scaling-down".*10\.0\.0\.3.*app\.kubernetes\.io\/operation/),
      }),
    );
  });

  it('reports why a scale-down failed, and how to request it again', () => {
    const wanted = { cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }] } };
    const failed = {
      ...operation,
      name: 'scale-down' as const,
      word: 'scaling-down',
      specHash: specHashOf(wanted),
      sequence: 2,
      result: 'failed' as const,
    };
    const status = {
      phase: 'Failed' as const,
      reason: 'DrainBlocked',
      message: 'two budgets',
      operation: failed,
      requests: [failed],
    };
    const given = snapshot({
      word: 'scale-down-failed',
      appliedBy: 1,
      operation: failed,
      hosts: joined,
      kubeconfig: { kind: 'present' },
      cluster: { spec: wanted, status },
    });
    expect(statusAfter(given, decide(given).outcome).summary).toBe(
      'scale-down failed: DrainBlocked: read the message, then set "scaling-down" and a new request-id',
    );
  });

  it('distinguishes a copy of a cluster from a cluster whose state Secret is lost', () => {
    const summary = (binding: Snapshot['binding']) => {
      const given = snapshot({ word: 'create-finished', appliedBy: 1, hosts: joined, binding });
      return statusAfter(given, decide(given).outcome).summary;
    };
    expect(summary({ kind: 'foreign', to: 'default/other' })).toMatch(
      /make the copy without the annotation$/,
    );
    expect(summary({ kind: 'missing' })).toMatch(
      /is lost: if its cluster exists, restore that, and delete nothing/,
    );
  });

  it('lists at most 100 hosts, and counts all by state', () => {
    const many = Array.from({ length: 1000 }, (_, at) => ({ ip: `10.1.${at >> 8}.${at & 255}` }));
    const hosts = [...joined, ...recordsOf({ cluster: { nodeList: many } }, 'Unclean')];
    const after = statusAfter(snapshot({ appliedBy: 1, hosts }), { kind: 'rest' });
    expect(after.hosts).toHaveLength(100);
    expect(after.hostStates).toEqual({ Joined: 3, Unclean: 1000 });
  });

  it('stays below 64 KiB with 1000 hosts', () => {
    const nodeList = Array.from({ length: 1000 }, (_, at) => ({ ip: `10.1.${at >> 8}.${at & 255}` }));
    const wanted = { cluster: { ...spec.cluster, nodeList } };
    const hosts = recordsOf(wanted, 'Held');
    const given = snapshot({ word: 'creating', hosts, operation, cluster: { spec: wanted } });
    const small = { ...operation, spec: withoutHosts(resolved) };
    const status = statusAfter(
      { ...given, cluster: { ...given.cluster, status: { phase: 'Creating', operation: small } } },
      { kind: 'rest' },
    );
    expect(JSON.stringify(status).length).toBeLessThan(64 * 1024);
  });
});
