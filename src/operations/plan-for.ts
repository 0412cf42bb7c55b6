import { type ClusterHost, clusterHostsOf } from '#api/cluster-host.ts';
import { type StoredSnapshot, snapshotTime } from '#api/etcd-snapshots.ts';
import type { HostRecord } from '#api/host-record.ts';
import { isInCluster, stateOf } from '#api/host-record.ts';
import type { KubernetesCluster, RequestRecord, Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { OperationName } from '#api/operation-values.ts';
import type { Problem } from '#base/errors.ts';
import type { PlannedHost, Step } from '#protocol/run-spec.ts';
import type { SnapshotTask } from '#protocol/snapshot.ts';
import { drainWarnings } from './drain.ts';
import { hooksOf, hookWarnings, type PlannedHook } from './hooks.ts';
import { manifestWarnings } from './manifests.ts';
import { type Offer, resolveSpec } from './resolve.ts';
import { validateSpec } from './validate.ts';

/** The input of every decision about an operation. */
export interface Situation {
  /** The wanted spec; defaults may be missing. */
  spec: Spec;
  /** The present spec; undefined until the cluster was created. */
  applied: Spec | undefined;
  /** Records of the hosts that the cluster holds. */
  hosts: readonly HostRecord[];
  /**
   * The former cluster of a host that could not reset it and released it, by address. The next cluster wipes the host first.
   */
  remains?: ReadonlyMap<string, string> | undefined;
  offer: Offer;
  /** The Kubernetes version that the cluster has. */
  version?: string | undefined;
  /** The request for a restore in the annotations, and the snapshots that status lists. */
  restore?: RestoreRequest | undefined;
  /** The requests that status remembers, the earliest first. */
  requests?: readonly RequestRecord[] | undefined;
}

/** A request for a restore; each part may be missing. */
export interface RestoreRequest {
  snapshot?: string | undefined;
  confirmed?: string | undefined;
  stored?: readonly StoredSnapshot[] | undefined;
}

/** Returns the request for a restore in the annotations of a cluster, with those of a request that is not written yet. */
export const restoreIn = (
  { metadata, status }: Pick<KubernetesCluster, 'metadata' | 'status'>,
  more: Readonly<Record<string, string | null>> = {},
): RestoreRequest => {
  const given = { ...metadata.annotations, ...more };
  return {
    snapshot: given[annotations.snapshot] ?? undefined,
    confirmed: given[annotations.confirmDataLossSince] ?? undefined,
    stored: status?.etcdSnapshots?.stored,
  };
};

/** The work of an operation: a dry run shows it, and the run carries out exactly this. */
export interface Plan {
  hosts: readonly PlannedHost[];
  /** Addresses that no run ever reached and the spec no longer names: released without a run. */
  release: readonly string[];
  steps: readonly Step[];
  /** The user's playbooks, before and after the run. */
  hooks: readonly PlannedHook[];
  refusals: readonly Problem[];
  warnings: readonly Problem[];
  /** The spec of the cluster after the operation. */
  target: Spec;
  /** The snapshot that is restored. */
  snapshot?: string;
}

/** The part of an operation that decides about hosts. */
export interface Planning {
  /** Returns the action for a host that `spec` names; undefined: none. */
  named(
    host: ClusterHost,
    record: HostRecord | undefined,
    situation: Situation,
  ): PlannedHost['action'] | undefined;
  /** Returns the action for a host that the cluster holds and `spec` does not name. */
  unnamed(record: HostRecord, situation: Situation): PlannedHost['action'] | undefined;
  /** Whether the work is complete without a changing host that is away, as long as a control plane answers. */
  mayBeAway?(host: ClusterHost, situation: Situation): boolean;
  /** Whether a host may be another machine than the one that joined: it is made anew. */
  anyMachine?(host: ClusterHost): boolean;
  steps: readonly StepPlan[];
}

/** A step, and the hosts that it works on for this spec; a step without hosts is left out. */
export interface StepPlan extends Omit<Step, 'hosts' | 'pace'> {
  /** Number of hosts at once, which the spec may set. */
  pace: Step['pace'] | ((spec: Spec) => Step['pace']);
  /**
   * When the step changes leaving hosts or their etcd members for good: once it has begun, or only if it is interrupted,
   * since it reverts its changes when it refuses.
   */
  takesOut?: 'begun' | 'cut off';
  /** Whether the step installs programs or images of the cluster's release on hosts. */
  installs?: true;
  /** Whether the run itself does the step; no play has its name. */
  byRun?: true;
  works(host: PlannedHost, all: readonly PlannedHost[], spec: Spec): boolean;
}

const wasTouched = ({ status }: HostRecord): boolean =>
  status?.touched === true || (status?.state !== undefined && status.state !== 'Held');

/**
 * Returns the machine-id that a host must have. It is known only for joined hosts, and for lost hosts that leave. Another
 * machine at the address of a lost host may join, and is never reset in its place.
 */
const expectedMachine = (
  action: PlannedHost['action'],
  record: HostRecord | undefined,
): { machineId?: string } => {
  const id = record?.status?.machineId;
  if (!record || id === undefined) return {};
  const isKnown = isInCluster(record) || (stateOf(record) === 'Lost' && action === 'leave');
  return isKnown ? { machineId: id } : {};
};

const metadataOf = ({ spec: { labels, taints } }: HostRecord): NonNullable<PlannedHost['before']> => ({
  ...(labels ? { labels } : {}),
  ...(taints ? { taints } : {}),
});

/** Returns the planned hosts. Port and user follow the spec at once; name and duties come from the Host record. */
function plannedHosts(
  { named, unnamed, mayBeAway, anyMachine }: Planning,
  situation: Situation,
): { hosts: PlannedHost[]; release: string[] } {
  const wanted = clusterHostsOf(situation.spec.cluster);
  const records = new Map(situation.hosts.map((record) => [record.spec.ip, record]));
  const hosts: PlannedHost[] = [];
  const release: string[] = [];
  for (const host of wanted.values()) {
    const record = records.get(host.ip);
    const action = named(host, record, situation);
    if (!action) continue;
    const reclaim = host.reclaim ?? record?.spec.reclaim ?? situation.remains?.get(host.ip);
    hosts.push({
      member: action === 'stay' && record ? reachedAs(record, host) : host,
      action,
      ...(anyMachine?.(host) ? {} : expectedMachine(action, record)),
      ...(action === 'change' && record ? { before: metadataOf(record) } : {}),
      ...(action === 'join' && reclaim !== undefined ? { reclaim } : {}),
      ...(action === 'change' && mayBeAway?.(host, situation) ? { mayBeAway: true } : {}),
    });
  }
  // By address: the cache and the API server list them in different orders.
  for (const record of situation.hosts.toSorted((a, b) => (a.spec.ip < b.spec.ip ? -1 : 1))) {
    if (wanted.has(record.spec.ip)) continue;
    const action = unnamed(record, situation);
    if (action === 'leave' && !wasTouched(record)) release.push(record.spec.ip);
    else if (action) hosts.push({ member: reachedAs(record), action, ...expectedMachine(action, record) });
  }
  return { hosts, release };
}

function reachedAs({ spec }: HostRecord, entry?: ClusterHost): ClusterHost {
  const { clusterId: _id, cluster: _cluster, reclaim: _reclaim, port, user, ...host } = spec;
  const way = entry ?? { port, user };
  return {
    ...host,
    ...(way.port === undefined ? {} : { port: way.port }),
    ...(way.user === undefined ? {} : { user: way.user }),
  };
}

/** Refuses duplicate node names among all hosts that the cluster holds, including hosts that could not be reset. */
function nameRefusals(
  hosts: readonly PlannedHost[],
  release: readonly string[],
  records: readonly HostRecord[],
): Problem[] {
  const holder = new Map(
    records
      .filter(({ spec }) => !release.includes(spec.ip))
      .map((record) => [record.spec.name, record] as const),
  );
  return hosts.flatMap(({ member: host, action }): Problem[] => {
    const other = action === 'join' ? holder.get(host.name) : undefined;
    if (!other || other.spec.ip === host.ip) return [];
    return [
      {
        field: 'spec.cluster',
        value: host.ip,
        reason:
          `names host ${host.ip} "${host.name}", which is the name of ${other.spec.ip} (${stateOf(other)}); ` +
          'remove that host first, or choose another name',
      },
    ];
  });
}

/** Refuses to install if the artifacts of the cluster's release are missing: for joins, repairs, and new balancers. */
function releaseRefusals(
  planning: Planning,
  { hosts, steps }: Pick<Plan, 'hosts' | 'steps'>,
  { version: present, spec, offer }: Situation,
): Problem[] {
  const version = spec.cluster.kubeVersion ?? present;
  // An upgrade installs another version than the present one. `validateSpec` refuses one that is not offered.
  if (version === undefined || version !== present || offer.versions.includes(version)) return [];
  const installing = new Set(planning.steps.flatMap(({ installs, name }) => (installs ? [name] : [])));
  if (!hosts.some(({ action }) => action === 'join') && !steps.some(({ name }) => installing.has(name)))
    return [];
  const reason = `NotOffered: the cluster is of this version, and the installation has no artifacts of it (it has ${offer.versions.join(', ')}), so nothing of it can be installed; give it the artifacts of ${version}`;
  return [{ field: 'spec.cluster.kubeVersion', value: version, reason }];
}

/**
 * Plans an operation, with every default of the spec filled in. Pure and total: reasons against it are refusals in the plan.
 * This is the only planner, so the plan hash that users approve belongs to the plan that is carried out.
 */
export function planFor(
  operation: {
    name: OperationName;
    planning: Planning;
    snapshot?: SnapshotTask['task'];
    checks: boolean;
    check(situation: Situation): Problem[];
    target(situation: Situation): Spec;
  },
  asked: Situation,
): Plan {
  const { planning } = operation;
  const { offer, applied } = asked;
  // If status was lost, the applied spec has the version.
  const version = asked.version ?? applied?.cluster.kubeVersion;
  const situation = {
    ...asked,
    ...(version === undefined ? {} : { version }),
    spec: resolveSpec(asked.spec, offer, version, applied),
  };
  const { hosts, release } = plannedHosts(planning, situation);
  const steps = planning.steps.flatMap(({ works, name, pace, cut }): Step[] => {
    const at = hosts.filter((host) => works(host, hosts, situation.spec)).map(({ member: host }) => host.ip);
    const howMany = typeof pace === 'function' ? pace(situation.spec) : pace;
    return at.length > 0 ? [{ name, pace: howMany, cut, hosts: at }] : [];
  });
  const refusals = operation.checks
    ? [
        ...validateSpec(situation.spec, situation.offer, situation.version),
        ...operation.check(situation),
        ...nameRefusals(hosts, release, situation.hosts),
        ...releaseRefusals(planning, { hosts, steps }, situation),
      ]
    : [];
  const warnings = hosts.flatMap(({ member: host, reclaim }): Problem[] =>
    reclaim === undefined
      ? []
      : [
          {
            field: 'spec.cluster',
            value: host.ip,
            reason: `host ${host.ip} is wiped first if its owner file names cluster ${reclaim}`,
          },
        ],
  );
  const hooks = hooksOf(operation.name, situation.spec);
  warnings.push(
    ...drainWarnings(situation.spec, steps),
    ...manifestWarnings(situation.spec, steps),
    ...hookWarnings(hooks),
  );
  const restored = operation.snapshot === 'load' ? situation.restore?.snapshot : undefined;
  if (restored !== undefined && refusals.length === 0)
    warnings.push({
      field: `metadata.annotations[${annotations.snapshot}]`,
      value: restored,
      reason: `everything that was written to the API of the cluster since ${snapshotTime(restored).toISOString()} is lost`,
    });
  if (restored !== undefined)
    for (const { member: host, action } of hosts)
      if (action === 'leave')
        warnings.push({
          field: 'spec.cluster',
          value: host.ip,
          reason: `host ${host.ip} is stopped, and reset with its data of before; if it does not answer, switch it off for good`,
        });
  return {
    ...{ hosts, release, steps, hooks, refusals, warnings, target: operation.target(situation) },
    ...(restored === undefined ? {} : { snapshot: restored }),
  };
}
