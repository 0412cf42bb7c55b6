import { describe, expect, it } from 'vitest';
import type { KubernetesCluster, OperationStatus, RequestRecord } from '#api/kubernetes-cluster.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { joined, operation, signal, snapshot, spec } from '../testing/given.fixture.ts';
import { statusAfter } from './status.ts';

/** A snapshot changes nothing: neither what waits, nor what has failed. */

const saving: OperationStatus = {
  ...operation,
  name: 'snapshot',
  word: 'snapshotting',
  sequence: 3,
  requestId: 's1',
  phaseBefore: 'Running',
};
const more = { cluster: { ...spec.cluster, nodeList: [...spec.cluster.nodeList, { ip: '10.0.0.4' }] } };
const end = (result: 'finished' | 'failed') =>
  ({ kind: 'end', result, reason: 'SnapshotFailed', message: 'the storage does not answer' }) as const;

/** Returns the status at the end of a snapshot of a cluster that was created. */
function ended(result: 'finished' | 'failed', ran = saving, wanted: KubernetesCluster['spec'] = spec) {
  const running = { ...ran, specHash: specHashOf(wanted) };
  const given = snapshot({
    word: 'snapshotting',
    requestId: 's1',
    appliedBy: 1,
    hosts: joined,
    operation: running,
    cluster: { spec: wanted, status: { phase: 'Maintaining', operation: running } },
  });
  const { phase, summary, conditions } = statusAfter(given, end(result));
  const upToDate = conditions?.find(({ type }) => type === 'UpToDate');
  return {
    ...{ phase, summary, upToDate: `${upToDate?.status} ${upToDate?.reason}` },
    isStalled: conditions?.some(({ type }) => type === 'Stalled'),
  };
}

describe('at the end of a snapshot', () => {
  it('says that the cluster is up to date, if it is', () => {
    expect(ended('finished')).toMatchObject({ phase: 'Running', upToDate: 'True Applied' });
  });

  it('does not say so while an edit waits', () => {
    expect(ended('finished', saving, more)).toMatchObject({ phase: 'Running', upToDate: 'False Edited' });
  });

  it('leaves the phase of an upgrade that has failed', () => {
    expect(ended('finished', { ...saving, phaseBefore: 'Failed' }).phase).toBe('Failed');
  });

  it('reports a failure without blocking the cluster', () => {
    expect(ended('failed')).toEqual({
      phase: 'Running',
      summary: 'Running; snapshot failed: SnapshotFailed',
      upToDate: 'True Applied',
      isStalled: false,
    });
  });
});

it.each(['restore', 'reconfigure'] as const)('is stalled after a %s that has failed', (name) => {
  const { phaseBefore: _none, ...running } = saving;
  const ran: OperationStatus = { ...running, name, word: OPERATION_VALUES[name].asked };
  expect(ended('failed', ran)).toMatchObject({
    phase: 'Failed',
    upToDate: 'False OperationFailed',
    isStalled: true,
  });
});

describe('an edit that adds a worker, after a snapshot', () => {
  const hash = specHashOf(more);
  const saved: RequestRecord = {
    ...{ word: 'snapshotting', requestId: 's1', specHash: hash, sequence: 3 },
    result: 'finished',
  };
  const created: RequestRecord = {
    ...{ word: 'creating', requestId: 'r1', specHash: specHashOf(spec), sequence: 1 },
    result: 'finished',
  };
  const signalWith = (requests: RequestRecord[]) => {
    const last: OperationStatus = { ...saving, specHash: hash, result: 'finished', recorded: true };
    return signal({
      word: 'snapshot-finished',
      appliedBy: 3,
      hosts: joined,
      operation: last,
      kubeconfig: { kind: 'present' },
      cluster: { spec: more, status: { phase: 'Running', requests, operation: last } },
    });
  };

  it('begins, although the snapshot had the same spec', () => {
    expect(signalWith([created, saved])).toBe('spec-edited');
  });

  it('does not begin again if it had failed before', () => {
    const failed: RequestRecord = {
      ...{ word: 'scaling-up', requestId: 'd1', specHash: hash, sequence: 2 },
      result: 'failed',
    };
    expect(signalWith([created, failed, saved])).toBe('needs-confirmation');
  });
});
