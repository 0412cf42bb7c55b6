import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations, finalizerOf } from '#api/names.ts';
import { membersOf } from '#operations/members.ts';
import { resolveSpec } from '#operations/resolve.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { decide } from './lifecycle.ts';
import { askedWord } from './signal.ts';
import type { Snapshot } from './snapshot.ts';

/** A cluster of three hosts and what is decided about it, for tests of the table. */
export const spec = {
  cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }, { ip: '10.0.0.3' }] },
};
export const resolved = resolveSpec(spec, { versions: ['v1.34.4'] }, undefined);
export const operation: OperationStatus = {
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
export const claims = [...membersOf(spec.cluster).values()].map((host) => ({ host, state: 'held' as const }));

interface Given extends Partial<Omit<Snapshot, 'cluster' | 'request'>> {
  word?: string;
  requestId?: string;
  cluster?: Partial<KubernetesCluster>;
  deleted?: boolean;
}

export function snapshot({ word = '', requestId = 'r1', cluster, deleted, ...rest }: Given): Snapshot {
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

export const signal = (given: Given): string => decide(snapshot(given)).signal;
export const outcome = (given: Given) => decide(snapshot(given)).outcome;
export const creating = { word: 'creating', cluster: { status: { phase: 'Creating' as const } } };
