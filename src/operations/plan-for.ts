import type { HostRecord } from '#api/host-record.ts';
import { isMember, stateOf } from '#api/host-record.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { type Member, membersOf } from '#api/member.ts';
import type { OperationName } from '#api/words.ts';
import type { Problem } from '#base/errors.ts';
import type { PlannedHost, Step } from '#protocol/run-spec.ts';
import { drainWarnings } from './drain.ts';
import { hooksOf, hookWarnings, type PlannedHook } from './hooks.ts';
import { manifestWarnings } from './manifests.ts';
import { type Offer, resolveSpec } from './resolve.ts';
import { validateSpec } from './validate.ts';

/** The input of every judgement about an operation. */
export interface Situation {
  /** The wanted spec; defaults may be missing. */
  spec: Spec;
  /** The present spec; undefined until the cluster was created. */
  applied: Spec | undefined;
  /** Records of the hosts that the cluster holds. */
  hosts: readonly HostRecord[];
  /** Ids of clusters that could not reset a host and are rid of it, by its address: who takes it wipes that first. */
  remains?: ReadonlyMap<string, string> | undefined;
  offer: Offer;
  /** The Kubernetes version that the cluster has. */
  version?: string | undefined;
}

/** The work of an operation: shown by a dry run, and carried out as it is. */
export interface Plan {
  hosts: readonly PlannedHost[];
  /** Addresses that no run ever reached and that nobody wants: given back without a run. */
  release: readonly string[];
  steps: readonly Step[];
  /** Playbooks of the user, before and after the run. */
  hooks: readonly PlannedHook[];
  refusals: readonly Problem[];
  warnings: readonly Problem[];
  /** The spec of the cluster afterwards. */
  target: Spec;
}

/** The part of an operation that decides about hosts. */
export interface Planning {
  /** The action for a host that `spec` names; undefined: none. */
  named(
    member: Member,
    record: HostRecord | undefined,
    situation: Situation,
  ): PlannedHost['action'] | undefined;
  /** The action for a host that the cluster holds and `spec` does not name. */
  unnamed(record: HostRecord, situation: Situation): PlannedHost['action'] | undefined;
  /** Whether the work is done without a host that changes and is away, as long as a control plane answers. */
  mayBeAway?(member: Member, situation: Situation): boolean;
  steps: readonly StepPlan[];
}

/** A step, and the hosts that it works on for this spec; it is left out where there are none. */
export interface StepPlan extends Omit<Step, 'hosts'> {
  /**
   * Hosts that leave, or members of etcd on them, are no longer what they were once it has begun; or only where it is cut
   * off, since it puts things back itself when it refuses.
   */
  takesOut?: 'begun' | 'cut off';
  /** It brings programs or images of the cluster's release to hosts. */
  installs?: true;
  works(host: PlannedHost, all: readonly PlannedHost[], spec: Spec): boolean;
}

const wasTouched = ({ status }: HostRecord): boolean =>
  status?.touched === true || (status?.state !== undefined && status.state !== 'Held');

/**
 * Only of a host that is part of the cluster is it known which machine it must be. At the address of a lost one is another,
 * which may join, and is never reset as what it is not.
 */
const expectedMachine = (
  action: PlannedHost['action'],
  record: HostRecord | undefined,
): { machineId?: string } => {
  const id = record?.status?.machineId;
  if (!record || id === undefined) return {};
  const isKnown = isMember(record) || (stateOf(record) === 'Lost' && action === 'leave');
  return isKnown ? { machineId: id } : {};
};

const marksOf = ({ spec: { labels, taints } }: HostRecord): NonNullable<PlannedHost['before']> => ({
  ...(labels ? { labels } : {}),
  ...(taints ? { taints } : {}),
});

/** Port and user of a host follow the spec at once; name and duties are those of its record. */
function plannedHosts(
  { named, unnamed, mayBeAway }: Planning,
  situation: Situation,
): { hosts: PlannedHost[]; release: string[] } {
  const wanted = membersOf(situation.spec.cluster);
  const records = new Map(situation.hosts.map((record) => [record.spec.ip, record]));
  const hosts: PlannedHost[] = [];
  const release: string[] = [];
  for (const member of wanted.values()) {
    const record = records.get(member.ip);
    const action = named(member, record, situation);
    if (!action) continue;
    const reclaim = member.reclaim ?? record?.spec.reclaim ?? situation.remains?.get(member.ip);
    hosts.push({
      member: action === 'stay' && record ? reachedAs(record, member) : member,
      action,
      ...expectedMachine(action, record),
      ...(action === 'change' && record ? { before: marksOf(record) } : {}),
      ...(action === 'join' && reclaim !== undefined ? { reclaim } : {}),
      ...(action === 'change' && mayBeAway?.(member, situation) ? { mayBeAway: true } : {}),
    });
  }
  // In order of address: a cache and a list of the server have them in orders of their own.
  for (const record of situation.hosts.toSorted((a, b) => (a.spec.ip < b.spec.ip ? -1 : 1))) {
    if (wanted.has(record.spec.ip)) continue;
    const action = unnamed(record, situation);
    if (action === 'leave' && !wasTouched(record)) release.push(record.spec.ip);
    else if (action) hosts.push({ member: reachedAs(record), action, ...expectedMachine(action, record) });
  }
  return { hosts, release };
}

function reachedAs({ spec }: HostRecord, entry?: Member): Member {
  const { clusterId: _id, cluster: _cluster, reclaim: _reclaim, port, user, ...member } = spec;
  const way = entry ?? { port, user };
  return {
    ...member,
    ...(way.port === undefined ? {} : { port: way.port }),
    ...(way.user === undefined ? {} : { user: way.user }),
  };
}

/** Node names are unique over everything that the cluster holds, hosts that could not be reset included. */
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
  return hosts.flatMap(({ member, action }): Problem[] => {
    const other = action === 'join' ? holder.get(member.name) : undefined;
    if (!other || other.spec.ip === member.ip) return [];
    return [
      {
        field: 'spec.cluster',
        value: member.ip,
        reason:
          `names host ${member.ip} "${member.name}", which is the name of ${other.spec.ip} (${stateOf(other)}); ` +
          'remove that host first, or choose another name',
      },
    ];
  });
}

/** What a release was installed from must be at hand where hosts of it are joined, put back, or given a balancer. */
function releaseRefusals(
  planning: Planning,
  { hosts, steps }: Pick<Plan, 'hosts' | 'steps'>,
  { version, offer }: Situation,
): Problem[] {
  if (version === undefined || offer.versions.includes(version)) return [];
  const installing = new Set(planning.steps.flatMap(({ installs, name }) => (installs ? [name] : [])));
  if (!hosts.some(({ action }) => action === 'join') && !steps.some(({ name }) => installing.has(name)))
    return [];
  const reason = `NotOffered: the cluster is of this version, and the installation has no artifacts of it (it has ${offer.versions.join(', ')}), so nothing of it can be installed; give it the artifacts of ${version}`;
  return [{ field: 'spec.cluster.kubeVersion', value: version, reason }];
}

/**
 * Plans an operation, with every default of the spec filled in. Pure and total: reasons against it are refusals in the
 * answer. Every plan is made here: the hash that users approve is the hash of the plan that is carried out.
 */
export function planFor(
  operation: {
    name: OperationName;
    planning: Planning;
    checks: boolean;
    check(situation: Situation): Problem[];
    target(situation: Situation): Spec;
  },
  asked: Situation,
): Plan {
  const { planning } = operation;
  const { offer, applied } = asked;
  // Status may have been lost; then the applied spec says the version.
  const version = asked.version ?? applied?.cluster.kubeVersion;
  const situation = {
    ...asked,
    ...(version === undefined ? {} : { version }),
    spec: resolveSpec(asked.spec, offer, version, applied),
  };
  const { hosts, release } = plannedHosts(planning, situation);
  const steps = planning.steps.flatMap(({ works, name, pace, cut }): Step[] => {
    const at = hosts.filter((host) => works(host, hosts, situation.spec)).map(({ member }) => member.ip);
    return at.length > 0 ? [{ name, pace, cut, hosts: at }] : [];
  });
  const refusals = operation.checks
    ? [
        ...validateSpec(situation.spec, situation.offer, situation.version),
        ...operation.check(situation),
        ...nameRefusals(hosts, release, situation.hosts),
        ...releaseRefusals(planning, { hosts, steps }, situation),
      ]
    : [];
  const warnings = hosts.flatMap(({ member, reclaim }): Problem[] =>
    reclaim === undefined
      ? []
      : [
          {
            field: 'spec.cluster',
            value: member.ip,
            reason: `host ${member.ip} is wiped first if its owner file names cluster ${reclaim}`,
          },
        ],
  );
  const hooks = hooksOf(operation.name, situation.spec);
  warnings.push(
    ...drainWarnings(situation.spec, steps),
    ...manifestWarnings(situation.spec, steps),
    ...hookWarnings(hooks),
  );
  return { hosts, release, steps, hooks, refusals, warnings, target: operation.target(situation) };
}
