import type { Stated } from '#api/conditions.ts';
import type { Expected, Seen, WritesRefused } from './seen.ts';
import { isAre, named, stated } from './words.ts';

/** kubeadm leaves etcd its own default quota, 2 GiB; beyond it etcd takes no writes (etcd.io, Space quota). */
const QUOTA_BYTES = 2 * 1024 ** 3;
const NEARLY_FULL = 0.8;
const TYPE = 'EtcdHealthy';

/**
 * Members, quorum and the losses still borne. An API server is ready only while etcd answers it, so a ready one proves
 * the quorum whatever is told of members: of those beside control planes by their pods, of those on hosts of their own
 * by the control planes' hosts.
 */
export function judgeEtcd(seen: Seen, hosts: readonly Expected[]): Stated {
  const { blind, servers, etcdPods, changing } = seen;
  if (blind) return stated(TYPE, 'Unknown', blind.reason, blind.message);
  const answers = servers.some(({ state }) => state === 'ready');
  if (!answers) {
    const failing = servers.filter(({ failed = [] }) => failed.some((check) => check.startsWith('etcd')));
    if (failing.length === 0)
      return stated(TYPE, 'Unknown', 'NotObserved', 'no API server reports whether etcd answers');
    return stated(TYPE, 'False', 'QuorumLost', `etcd does not answer ${named(failing.map(({ ip }) => ip))}`);
  }
  if (seen.writesRefused) return stated(TYPE, 'False', seen.writesRefused, REFUSES[seen.writesRefused]);
  const { told, leader } = toldOfMembers(seen, hosts);
  // Records follow at an operation's end: meanwhile a member that shows itself nowhere may have been moved.
  const isSeen = ({ name, ip, controlPlane }: Expected) =>
    (!controlPlane && told.has(ip)) || (etcdPods?.some(({ node }) => node === name) ?? false);
  const isMember = (host: Expected) =>
    host.etcd && ((host.joined && !changing) || ((host.joined || host.leaving) && isSeen(host)));
  const members = hosts.filter(isMember);
  const apart = members.filter(({ controlPlane }) => !controlPlane);
  const beside = members.filter(({ controlPlane }) => controlPlane);
  if (beside.length > 0 && !etcdPods)
    return stated(TYPE, 'Unknown', 'NotObserved', 'no API server reports the pods of etcd');
  const unwell = new Set(sickMembers(seen, beside, etcdPods ?? []).map(({ name }) => name));
  const sick = members.flatMap(({ ip, name }): Sick[] => {
    const how = told.get(ip) ?? '';
    if (how !== '') return [{ name, how }];
    return unwell.has(name) ? [{ name }] : [];
  });
  const untold = apart.filter(({ ip }) => !told.has(ip)).map(({ name }) => name);
  if (members.length === 0 || (untold.length > 0 && sick.length === 0)) {
    const which = untold.length > 0 ? `: ${named(untold)}` : '';
    const message = `etcd answers the API servers; no control plane has reported external members lately${which}`;
    return stated(TYPE, 'Unknown', 'MembersNotObserved', message);
  }
  const leads = members.find(({ ip }) => ip === leader)?.name;
  return judgeMembers(members.length, sick, untold.length, { leads, databaseBytes: seen.databaseBytes });
}

const REFUSES: Readonly<Record<WritesRefused, string>> = {
  NoSpace:
    'etcd takes no writes: its database has reached its quota (alarm NOSPACE); remove objects, then compact, defragment and disarm the alarm',
  Corrupt:
    'etcd takes no writes: its members differ in their data (alarm CORRUPT); replace the member that is wrong',
};

interface Sick {
  name: string;
  /** How it fails, where that is told. */
  how?: string;
}

interface ToldOfMembers {
  /** By their addresses, how each fails, or '' where it does not. */
  told: ReadonlyMap<string, string>;
  /** Address of the one that leads, where just one says so. */
  leader: string | undefined;
}

/** The members that hosts of ready control planes tell of. */
function toldOfMembers({ nodes = [] }: Seen, hosts: readonly Expected[]): ToldOfMembers {
  const tellers = new Set(
    hosts.filter(({ controlPlane, joined }) => controlPlane && joined).map(({ name }) => name),
  );
  const nameAt = new Map(hosts.map(({ ip, name }) => [ip, name]));
  const words = new Map<string, string[]>();
  const leaders = new Set<string>();
  for (const { name, ready, etcd = [] } of nodes) {
    if (!ready || !tellers.has(name)) continue;
    for (const { ip, healthy, says, leads } of etcd) {
      const said = words.get(ip) ?? [];
      words.set(ip, said);
      if (leads) leaders.add(ip);
      if (!healthy) said.push(nameAt.get(ip) === name ? says : `to ${name}: ${says}`);
    }
  }
  const [leader, another] = leaders;
  return {
    told: new Map([...words].map(([ip, said]) => [ip, named(said)])),
    leader: another === undefined ? leader : undefined,
  };
}

/** The members that are not healthy, by their pods and nodes. */
export function sickMembers(
  { nodes }: Seen,
  members: readonly Expected[],
  pods: NonNullable<Seen['etcdPods']>,
): Expected[] {
  // A pod stays as its kubelet left it: what a host that is away said last is no news of its member.
  const isAway = (name: string) => nodes?.some((node) => node.name === name && !node.ready) ?? false;
  const isHealthy = ({ name }: Expected) =>
    !isAway(name) && pods.some(({ node, ready }) => node === name && ready);
  return members.filter((member) => !isHealthy(member));
}

function judgeMembers(
  count: number,
  sick: readonly Sick[],
  untold: number,
  { leads, databaseBytes }: { leads: string | undefined; databaseBytes: number | undefined },
): Stated {
  const quorum = Math.floor(count / 2) + 1;
  const healthy = count - sick.length - untold;
  const borne = Math.max(0, healthy - quorum);
  const arithmetic = `quorum is ${quorum}, ${borne === 0 ? 'no' : borne} further ${borne === 1 || borne === 0 ? 'loss is' : 'losses are'} borne`;
  if (sick.length > 0) {
    const which = named(sick.map(({ name, how }) => (how === undefined ? name : `${name} (${how})`)));
    const message = `${healthy} of ${count} members ${isAre(healthy)} healthy, ${arithmetic}; not healthy: ${which}`;
    return stated(TYPE, 'False', 'Degraded', message);
  }
  if (databaseBytes !== undefined && databaseBytes > NEARLY_FULL * QUOTA_BYTES) {
    const message = `the database has used over ${NEARLY_FULL * 100}% of 2 GiB, beyond which etcd takes no writes by default; defragment it, or remove objects`;
    return stated(TYPE, 'True', 'DatabaseNearlyFull', message);
  }
  const led = leads === undefined ? '' : `, ${leads} leads`;
  return stated(TYPE, 'True', 'AllHealthy', `every member is healthy: ${healthy}${led}, ${arithmetic}`);
}
