import type { Stated } from '#api/conditions.ts';
import type { Expected, Seen } from './seen.ts';
import { isAre, named, stated } from './words.ts';

/** kubeadm leaves etcd its own default quota, 2 GiB; beyond it etcd takes no writes (etcd.io, Space quota). */
const QUOTA_BYTES = 2 * 1024 ** 3;
const NEARLY_FULL = 0.8;
const TYPE = 'EtcdHealthy';

/**
 * Members, quorum and the losses still borne. An API server is ready only while etcd answers it, so a ready one proves
 * the quorum whatever pods say; members on hosts of their own show themselves in no other way.
 */
export function judgeEtcd(seen: Seen, hosts: readonly Expected[]): Stated {
  const { blind, servers, etcdPods, changing } = seen;
  if (blind) return stated(TYPE, 'Unknown', blind.reason, blind.message);
  const answers = servers.some(({ state }) => state === 'ready');
  if (!answers) {
    const failing = servers.filter(({ failed = [] }) => failed.some((check) => check.startsWith('etcd')));
    if (failing.length === 0)
      return stated(TYPE, 'Unknown', 'NotObserved', 'no API server tells whether etcd answers');
    return stated(TYPE, 'False', 'QuorumLost', `etcd does not answer ${named(failing.map(({ ip }) => ip))}`);
  }
  // Records follow at an operation's end: meanwhile a member without a pod may have been moved.
  const hasPod = (name: string) => etcdPods?.some(({ node }) => node === name) ?? false;
  const isMember = ({ etcd, joined, leaving, name }: Expected) =>
    etcd && ((joined && !changing) || ((joined || leaving) && hasPod(name)));
  const members = hosts.filter(isMember);
  if (members.length === 0 || members.some(({ controlPlane }) => !controlPlane)) {
    const message =
      'etcd answers the API servers; its members are on hosts of their own and are not looked at';
    return stated(TYPE, 'Unknown', 'MembersNotObserved', message);
  }
  if (!etcdPods) return stated(TYPE, 'Unknown', 'NotObserved', 'no API server tells of the pods of etcd');
  return judgeMembers(seen, members, etcdPods);
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

function judgeMembers(seen: Seen, members: readonly Expected[], pods: NonNullable<Seen['etcdPods']>): Stated {
  const { databaseBytes } = seen;
  const sick = sickMembers(seen, members, pods);
  const quorum = Math.floor(members.length / 2) + 1;
  const healthy = members.length - sick.length;
  const borne = Math.max(0, healthy - quorum);
  const arithmetic = `quorum is ${quorum}, ${borne === 0 ? 'no' : borne} further ${borne === 1 || borne === 0 ? 'loss is' : 'losses are'} borne`;
  if (sick.length > 0) {
    const message = `${healthy} of ${members.length} members ${isAre(healthy)} healthy, ${arithmetic}; not healthy: ${named(sick.map(({ name }) => name))}`;
    return stated(TYPE, 'False', 'Degraded', message);
  }
  if (databaseBytes !== undefined && databaseBytes > NEARLY_FULL * QUOTA_BYTES) {
    const message = `the database has used over ${NEARLY_FULL * 100}% of 2 GiB, beyond which etcd takes no writes by default; defragment it, or remove objects`;
    return stated(TYPE, 'True', 'DatabaseNearlyFull', message);
  }
  return stated(TYPE, 'True', 'AllHealthy', `every member is healthy: ${healthy}, ${arithmetic}`);
}
