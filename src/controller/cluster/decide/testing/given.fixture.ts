import { presentSpec } from '#api/cluster-facts.ts';
import { clusterHostsOf } from '#api/cluster-host.ts';
import type { HostRecord, HostState } from '#api/host-record.ts';
import type { KubernetesCluster, OperationStatus, Spec } from '#api/kubernetes-cluster.ts';
import { annotations, finalizerOf } from '#api/names.ts';
import { type OperationName, operationAsked, requestedValue } from '#api/operation-values.ts';
import { findOperation } from '#operations/index.ts';
import { planFor } from '#operations/plan-for.ts';
import { resolveSpec } from '#operations/resolve.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import type { FrozenPlan } from '../frozen-plan.ts';
import type { Snapshot } from '../snapshot.ts';
import { decide } from '../table.ts';

/** A cluster of three hosts and the decisions about it, for tests of the table. */
export const spec = {
  cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }, { ip: '10.0.0.3' }] },
};
const offer = { versions: ['v1.34.4'] };
export const resolved = resolveSpec(spec, offer, undefined);
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

/** Returns records of every host of a spec. */
export const recordsOf = (wanted: Spec, state: HostState, status: HostRecord['status'] = {}): HostRecord[] =>
  [...clusterHostsOf(wanted.cluster).values()].map((host) => ({
    metadata: { name: host.ip, namespace: 'operator' },
    spec: { clusterId: 'id1', cluster: 'default/demo', ...host },
    status: { state, ...status },
  }));
export const held = recordsOf(spec, 'Held');
/** The last run as the operation above leaves it in Host records. */
const lastRun = {
  operation: 'create',
  sequence: 1,
  attempt: 1,
  did: [],
  ok: true,
  at: '2026-01-01T00:00:00.000Z',
};
export const joined = recordsOf(spec, 'Joined', { touched: true, lastRun });

/** Returns the annotation with the applied spec. */
const applied = (sequence = 1) => ({
  [annotations.applied]: JSON.stringify({
    sequence,
    spec: { ...resolved, cluster: { ...resolved.cluster, masterList: undefined, nodeList: undefined } },
  }),
});

interface Given extends Partial<Omit<Snapshot, 'cluster' | 'request' | 'applied'>> {
  word?: string;
  requestId?: string;
  dryRun?: boolean;
  /** Further annotations. */
  extraAnnotations?: Record<string, string>;
  cluster?: Partial<KubernetesCluster>;
  deleted?: boolean;
  /** The sequence of the operation that was applied last. */
  appliedBy?: number;
}

/** Returns the plan of an operation as it would have been frozen. */
function plan(name: OperationName, hosts: readonly HostRecord[], wanted: Spec = spec): FrozenPlan {
  const descriptor = findOperation(name);
  if (!descriptor) throw new Error(`there is no operation ${name}`);
  const made = planFor(descriptor, { spec: wanted, applied: wanted, hosts, offer });
  return {
    sequence: 1,
    hosts: [...made.hosts],
    release: [...made.release],
    steps: [...made.steps],
    hooks: [...made.hooks],
    refusals: [...made.refusals],
  };
}

export function snapshot({
  word = '',
  requestId = 'r1',
  dryRun = false,
  extraAnnotations = {},
  cluster,
  deleted,
  appliedBy,
  ...rest
}: Given): Snapshot {
  const metadata = {
    name: 'demo',
    namespace: 'default',
    generation: 1,
    finalizers: [finalizerOf('demo')],
    annotations: {
      [annotations.operation]: word,
      [annotations.requestId]: requestId,
      ...(appliedBy === undefined ? {} : applied(appliedBy)),
      ...extraAnnotations,
      ...(dryRun ? { [annotations.dryRun]: 'All' } : {}),
    },
    ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  };
  const running = rest.operation;
  const status = { ...cluster?.status, ...(running ? { operation: running } : {}) };
  const object: KubernetesCluster = {
    metadata,
    spec,
    ...cluster,
    ...(cluster?.status || running ? { status } : {}),
  };
  const asked = requestedValue(word);
  const hosts = rest.hosts ?? [];
  return {
    now: new Date('2026-01-01T00:01:00.000Z'),
    cluster: object,
    clusterId: 'id1',
    binding: { kind: 'ours' },
    adopted: true,
    hosts,
    applied: presentSpec(object, hosts),
    request: asked
      ? {
          word: asked,
          requestId,
          specHash: specHashOf(object.spec),
          operation: operationAsked(asked),
        }
      : undefined,
    operation: undefined,
    sequence: running?.sequence,
    plan: running ? plan(running.name, hosts) : undefined,
    attempt: { kind: 'absent' },
    hook: undefined,
    turn: { kind: 'now' },
    fetch: { kind: 'absent' },
    check: undefined,
    attempts: [],
    kubeconfig: { kind: 'missing' },
    health: { kind: 'off' },
    sparesOnRecord: [],
    remains: new Map(),
    takenAway: [],
    offer,
    problems: [],
    malformed: false,
    ...rest,
  };
}

export const signal = (given: Given): string => decide(snapshot(given)).signal;
export const outcome = (given: Given) => decide(snapshot(given)).outcome;
export const creating = { word: 'creating', cluster: { status: { phase: 'Creating' as const } } };
