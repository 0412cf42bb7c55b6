import { describe, expect, it } from 'vitest';
import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations, finalizerOf } from '#api/names.ts';
import { membersOf } from '#operations/members.ts';
import { resolveSpec } from '#operations/resolve.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { decide } from './lifecycle.ts';
import { askedWord } from './signal.ts';
import type { Snapshot } from './snapshot.ts';
import { statusAfter } from './status.ts';

const spec = {
  cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }, { ip: '10.0.0.3' }] },
};
const resolved = resolveSpec(spec, { versions: ['v1.34.4'] }, undefined);
const operation: OperationStatus = {
  id: 'abc',
  name: 'create',
  sequence: 1,
  attempt: 1,
  word: 'creating',
  requestId: 'r1',
  specHash: specHashOf(spec),
  generation: 1,
  spec: resolved,
  step: 'starting',
  startedAt: '2026-01-01T00:00:00.000Z',
};
const claims = [...membersOf(spec.cluster).values()].map((host) => ({ host, state: 'held' as const }));

interface Given extends Partial<Omit<Snapshot, 'cluster' | 'request'>> {
  word?: string;
  requestId?: string;
  cluster?: Partial<KubernetesCluster>;
  deleted?: boolean;
}

function snapshot({ word = '', requestId = 'r1', cluster, deleted, ...rest }: Given): Snapshot {
  const metadata = {
    name: 'demo',
    namespace: 'default',
    generation: 1,
    finalizers: [finalizerOf('demo')],
    annotations: { [annotations.operation]: word, [annotations.requestId]: requestId },
    ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  };
  const object: KubernetesCluster = { metadata, spec, ...cluster };
  const asked = askedWord(word);
  return {
    now: new Date('2026-01-01T00:01:00.000Z'),
    cluster: object,
    clusterId: 'id1',
    binding: { kind: 'ours' },
    adopted: true,
    claims: [],
    applied: undefined,
    request: asked
      ? {
          word: asked,
          requestId,
          specHash: specHashOf(object.spec),
          operation: asked === 'creating' ? 'create' : undefined,
        }
      : undefined,
    operation: undefined,
    attempt: { kind: 'absent' },
    fetch: { kind: 'absent' },
    attempts: [],
    kubeconfig: { kind: 'missing' },
    problems: [],
    malformed: false,
    ...rest,
  };
}

const signal = (given: Given): string => decide(snapshot(given)).signal;
const outcome = (given: Given) => decide(snapshot(given)).outcome;
const creating = { word: 'creating', cluster: { status: { phase: 'Creating' as const } } };

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
    const busy = { ...creating, operation: { ...operation, step: 'masters' }, deleted: true };
    expect(outcome(busy)).toMatchObject({ kind: 'accept', operation: 'delete' });
    expect(signal({ ...busy, binding: { kind: 'foreign', to: 'default/other' } })).toBe('conflict');
    expect(signal({ deleted: true, binding: { kind: 'unbound' } })).toBe('forgotten');
  });
});

describe('deletion', () => {
  const removing = { ...operation, name: 'delete' as const, word: 'terminating', step: 'Reset hosts' };
  const deleting = {
    deleted: true,
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
      signal({ deleted: true, operation: { ...removing, step: 'starting' }, cluster: paused, now: late }),
    ).toBe('paused');
  });
});

it('joins a host that was remembered as unclean', () => {
  const unclean = claims.map((claim) => ({ ...claim, state: 'unclean' as const }));
  const report = { success: true, message: '', hosts: [], kubeconfig: 'k' };
  const done = { ...creating, operation: { ...operation, step: 'nodes' }, claims: unclean };
  expect(outcome({ ...done, attempt: { kind: 'succeeded', report } })).toMatchObject({
    effects: [{ kind: 'join' }],
  });
});

it('waits before it fetches a kubeconfig again', () => {
  const joined = claims.map((claim) => ({ ...claim, state: 'joined' as const }));
  const fetch = { kind: 'failed' as const, reason: 'x', message: 'y', endedAt: '2026-01-01T00:00:50.000Z' };
  const given = {
    ...creating,
    operation: { ...operation, step: 'nodes' },
    claims: joined,
    attempt: { kind: 'succeeded' as const },
    fetch,
  };
  expect(outcome(given)).toMatchObject({ kind: 'wait', ms: 20_000 });
});

it('does not keep, over and over, what was fetched and is no kubeconfig', () => {
  const joined = claims.map((claim) => ({ ...claim, state: 'joined' as const }));
  const report = { success: true, message: '', hosts: [], kubeconfig: '<html>' };
  const given = {
    ...creating,
    operation: { ...operation, step: 'nodes' },
    claims: joined,
    attempt: { kind: 'succeeded' as const, report },
  };
  expect(outcome(given)).toMatchObject({ effects: [{ kind: 'start', attempt: { operation: 'fetch' } }] });
  const fetch = { kind: 'succeeded' as const, report };
  expect(outcome({ ...given, fetch })).toMatchObject({
    kind: 'wait',
    stall: { reason: 'KubeconfigMissing', message: expect.stringContaining('is no kubeconfig') },
  });
});

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
    expect(signal({ ...given, deleted: true })).toBe('deleted');
    expect(signal({ ...given, malformed: false })).toBe('asked');
    const edited = { problems, word: 'create-finished', applied: resolved };
    expect(signal({ ...edited, cluster: { status: { phase: 'Running' } } })).toBe('invalid');
  });
});
