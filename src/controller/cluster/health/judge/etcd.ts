import type { Stated } from '#api/conditions.ts';
import type { Expected, Seen, WritesRefused } from './seen.ts';
import { isAre, named, stated } from './wording.ts';

/** kubeadm keeps etcd's default quota, 2 GiB; beyond it etcd accepts no writes (etcd.io, Space quota). */
const QUOTA_BYTES = 2 * 1024 ** 3;
const NEARLY_FULL = 0.8;
const TYPE = 'EtcdHealthy';

/**
 * Decides `EtcdHealthy`: members, quorum, and how many further losses are tolerated. An API server is ready only while etcd
 * answers it, so a ready API server proves the quorum. Stacked members are judged by their pods; external members by the
 * reports of the control planes' hosts.
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
  const { reported, leader } = reportedOfMembers(seen, hosts);
  // Host records are updated at an operation's end. Until then a member that shows up nowhere may have been moved.
  const isSeen = ({ name, ip, controlPlane }: Expected) =>
    (!controlPlane && reported.has(ip)) || (etcdPods?.some(({ node }) => node === name) ?? false);
  const isMember = (host: Expected) =>
    host.etcd && ((host.joined && !changing) || ((host.joined || host.leaving) && isSeen(host)));
  const members = hosts.filter(isMember);
  const external = members.filter(({ controlPlane }) => !controlPlane);
  const beside = members.filter(({ controlPlane }) => controlPlane);
  if (beside.length > 0 && !etcdPods)
    return stated(TYPE, 'Unknown', 'NotObserved', 'no API server reports the pods of etcd');
  const unwell = new Set(sickMembers(seen, beside, etcdPods ?? []).map(({ name }) => name));
  const sick = members.flatMap(({ ip, name }): Sick[] => {
    const how = reported.get(ip) ?? '';
    if (how !== '') return [{ name, how }];
    return unwell.has(name) ? [{ name }] : [];
  });
  const unreported = external.filter(({ ip }) => !reported.has(ip)).map(({ name }) => name);
  if (members.length === 0 || (unreported.length > 0 && sick.length === 0)) {
    const which = unreported.length > 0 ? `: ${named(unreported)}` : '';
    const message = `etcd answers the API servers; no control plane has reported external members lately${which}`;
    return stated(TYPE, 'Unknown', 'MembersNotObserved', message);
  }
  const leaderName = members.find(({ ip }) => ip === leader)?.name;
  return judgeMembers(members.length, sick, unreported.length, {
    leader: leaderName,
    databaseBytes: seen.databaseBytes,
  });
}

const REFUSES: Readonly<Record<WritesRefused, string>> = {
  NoSpace:
    'etcd takes no writes: its database has reached its quota (alarm NOSPACE); remove objects, then compact, defragment and disarm the alarm',
  Corrupt:
    'etcd takes no writes: its members differ in their data (alarm CORRUPT); replace the member that is wrong',
};

interface Sick {
  name: string;
  /** Description of the failure, if one is reported. */
  how?: string;
}

interface ReportedOfMembers {
  /** The failure of each member by its address; '' if it is healthy. */
  reported: ReadonlyMap<string, string>;
  /** Address of the leader, if exactly one member claims to lead. */
  leader: string | undefined;
}

/** Collects the reports of ready control planes about etcd members. */
function reportedOfMembers({ nodes = [] }: Seen, hosts: readonly Expected[]): ReportedOfMembers {
  const reporters = new Set(
    hosts.filter(({ controlPlane, joined }) => controlPlane && joined).map(({ name }) => name),
  );
  const nameAt = new Map(hosts.map(({ ip, name }) => [ip, name]));
  const findings = new Map<string, string[]>();
  const leaders = new Set<string>();
  for (const { name, ready, etcd = [] } of nodes) {
    if (!ready || !reporters.has(name)) continue;
    for (const { ip, healthy, says, isLeader: leaderName } of etcd) {
      const said = findings.get(ip) ?? [];
      findings.set(ip, said);
      if (leaderName) leaders.add(ip);
      if (!healthy) said.push(nameAt.get(ip) === name ? says : `to ${name}: ${says}`);
    }
  }
  const [leader, another] = leaders;
  return {
    reported: new Map([...findings].map(([ip, said]) => [ip, named(said)])),
    leader: another === undefined ? leader : undefined,
  };
}

/** Returns the members that are not healthy, by their pods and nodes. */
export function sickMembers(
  { nodes }: Seen,
  members: readonly Expected[],
  pods: NonNullable<Seen['etcdPods']>,
): Expected[] {
  // A pod object keeps its kubelet's last status, so the pod of a host that is away does not count.
  const isAway = (name: string) => nodes?.some((node) => node.name === name && !node.ready) ?? false;
  const isHealthy = ({ name }: Expected) =>
    !isAway(name) && pods.some(({ node, ready }) => node === name && ready);
  return members.filter((host) => !isHealthy(host));
}

function judgeMembers(
  count: number,
  sick: readonly Sick[],
  unreported: number,
  { leader: leaderName, databaseBytes }: { leader: string | undefined; databaseBytes: number | undefined },
): Stated {
  const quorum = Math.floor(count / 2) + 1;
  const healthy = count - sick.length - unreported;
  const tolerance = Math.max(0, healthy - quorum);
  // Source: etcd.io, FAQ, What is failure tolerance?
  const arithmetic = `quorum is ${quorum}, ${tolerance === 0 ? 'no other' : `${tolerance} more`} may fail`;
  if (sick.length > 0) {
    const which = named(sick.map(({ name, how }) => (how === undefined ? name : `${name} (${how})`)));
    const message = `${healthy} of ${count} members ${isAre(healthy)} healthy, ${arithmetic}; not healthy: ${which}`;
    return stated(TYPE, 'False', 'Degraded', message);
  }
  if (databaseBytes !== undefined && databaseBytes > NEARLY_FULL * QUOTA_BYTES) {
    const message = `the database has used over ${NEARLY_FULL * 100}% of 2 GiB, beyond which etcd takes no writes by default; defragment it, or remove objects`;
    return stated(TYPE, 'True', 'DatabaseNearlyFull', message);
  }
  const leaderText = leaderName === undefined ? '' : `, ${leaderName} leads`;
  return stated(
    TYPE,
    'True',
    'AllHealthy',
    `every member is healthy: ${healthy}${leaderText}, ${arithmetic}`,
  );
}
