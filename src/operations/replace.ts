import { type ClusterHost, clusterHostsOf, hasEtcd, isMaster } from '#api/cluster-host.ts';
import { canonicalIp, type HostEntry, hostSchema, ipSchema, LISTS } from '#api/host.ts';
import { stateOf } from '#api/host-record.ts';
import type { ClusterSpec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import { joins } from '#protocol/run-spec.ts';
import { type ChangeKind, changesBetween, onlyChanges } from './changes.ts';
import {
  drainNodes,
  forgetNodes,
  masterStays,
  mayMissEndpoints,
  ofOneThatStays,
  pointHosts,
} from './control-planes.ts';
import { drainField } from './drain.ts';
import {
  addMembers,
  checkEtcd,
  isLeftOfMove,
  issueCertificates,
  pointToEtcd,
  removeMembers,
} from './etcd.ts';
import { named, type Operation, resetHosts } from './operation.ts';
import type { Situation } from './plan-for.ts';
import { type Edit, editRequest, type Present, retryField } from './request.ts';

const KINDS: readonly ChangeKind[] = [
  'workers added',
  'workers removed',
  'control planes added',
  'control planes removed',
  'etcd members added',
  'etcd members removed',
];
const addressOf = ({ ip }: HostEntry): string => canonicalIp(ip) ?? ip;

/** Returns the lists with one host in the place of another. */
export function exchanged({ spec, applied }: Present, from: string, to: HostEntry): Edit {
  const change: Partial<ClusterSpec> = {};
  const gone = canonicalIp(from) ?? from;
  const problems: Problem[] = [];
  for (const list of LISTS) {
    const hosts = spec.cluster[list] ?? applied?.cluster[list] ?? [];
    if (hosts.some((host) => addressOf(host) === addressOf(to)))
      problems.push({ field: 'to.ip', value: to.ip, reason: `is a host of ${list} already` });
    if (hosts.some((host) => addressOf(host) === gone))
      change[list] = hosts.map((host) => (addressOf(host) === gone ? to : host));
  }
  if (Object.keys(change).length === 0)
    problems.push({ field: 'from', value: from, reason: 'is not a host of the cluster' });
  return { change, problems };
}

const dutiesOf = ({ duties }: ClusterHost): string => duties.join('+');

/** Refuses unequal pairs: for each host that leaves, one with the same duties joins; control planes change one at a time. */
function pairProblems({ applied, spec }: Situation): Problem[] {
  if (!applied) return [];
  const [before, after] = [clusterHostsOf(applied.cluster), clusterHostsOf(spec.cluster)];
  const gone = [...before.values()].filter(({ ip }) => !after.has(ip));
  const come = [...after.values()].filter(({ ip }) => !before.has(ip));
  const field = 'spec.cluster';
  const [went, came] = [gone, come].map((hosts) => hosts.map(dutiesOf).sort());
  if (went?.join() !== came?.join()) {
    const reason = `takes out ${gone.map(({ ip }) => ip).join(', ') || 'no host'} and brings in ${come.map(({ ip }) => ip).join(', ') || 'none'}; name one new host for each that leaves, in the same lists`;
    return [{ field, reason }];
  }
  if (![...before.values()].some((host) => isMaster(host) && after.has(host.ip))) {
    const isExternal = ![...before.values()].some((host) => isMaster(host) && hasEtcd(host));
    const way = isExternal
      ? 'add one by "scaling-up", then take this one out by "scaling-down"'
      : 'add two by "scaling-up", then take this one and one of the two out by "scaling-down"';
    const reason = `would leave none of the present control planes; ${way}`;
    return [{ field: `${field}.masterList`, reason }];
  }
  if (![...before.values()].some((host) => hasEtcd(host) && after.has(host.ip))) {
    const reason =
      'would leave none of the present members of etcd; add two by "scaling-up", then take this one and one of the two out by "scaling-down"';
    return [{ field: `${field}.etcdList`, reason }];
  }
  const changes = changesBetween(applied, spec);
  return (['control planes', 'etcd members'] as const).flatMap((what): Problem[] => {
    const { length } = changes.filter(({ kind }) => kind === `${what} removed`);
    if (length <= 1) return [];
    const reason = `replaces ${length} ${what} at once; replace one, and the next when that is done`;
    return [{ field: `${field}.${what === 'control planes' ? 'masterList' : 'etcdList'}`, reason }];
  });
}

/** Puts hosts in the place of others, dead or alive. A dead etcd member is removed first, a living one last. */
export const replace = {
  ...named('replace'),
  summary: 'Put a host in the place of another',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'replace',
    description: 'Puts a host in the place of another, which may be dead, in every list that names it.',
    fields: {
      from: ipSchema
        .optional()
        .meta({ description: 'Address of the host that leaves; required without retry.' }),
      to: hostSchema
        .optional()
        .meta({ description: 'The host that takes over its duties; required without retry.' }),
      drain: drainField,
      retry: retryField,
    },
    example: { from: '192.0.2.12', to: { ip: '192.0.2.14' } },
    edit(present, { from, to, drain, retry }) {
      const settings = drain ? { drain } : {};
      if (from !== undefined && to) {
        const { change, problems } = exchanged(present, from, to);
        return { change: { ...change, ...settings }, problems };
      }
      const missing = [from === undefined ? 'from' : undefined, to ? undefined : 'to'].filter(
        (one) => one !== undefined,
      );
      const none = retry && missing.length === 2;
      return {
        change: settings,
        problems: none ? [] : missing.map((field) => ({ field, reason: 'is required' })),
      };
    },
  }),
  mayChange: KINDS,
  planning: {
    named: (host, record, situation) =>
      !record || stateOf(record) !== 'Joined' ? 'join' : ofOneThatStays(host, record, situation),
    unnamed: (record, situation) => (isLeftOfMove(record, situation) ? undefined : 'leave'),
    mayBeAway: mayMissEndpoints,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Prepare hosts', works: joins, pace: 'all', cut: 'between' },
      checkEtcd,
      { ...removeMembers, name: 'Remove dead etcd members' },
      issueCertificates,
      addMembers,
      pointToEtcd,
      pointHosts,
      { name: 'Admit hosts', works: masterStays, pace: 'one', cut: 'between' },
      { name: 'Join hosts', works: joins, pace: 'all', cut: 'between' },
      drainNodes,
      removeMembers,
      { name: 'Wait for the cluster', works: masterStays, pace: 'one', cut: 'between' },
      resetHosts,
      forgetNodes,
    ],
  },
  check: (situation) => [...onlyChanges(KINDS, situation), ...pairProblems(situation)],
} satisfies Operation;
