import type { ListName } from '#api/host.ts';
import type { ClusterSpec } from '#api/kubernetes-cluster.ts';
import { hasEtcd, isEtcdOnly, isMaster, type Member, membersOf } from '#api/member.ts';
import type { HostRole } from '#precheck/check.ts';
import type { PrecheckHost } from '#precheck/run.ts';

const SSH_TIMEOUT_MS = 15_000;

/** Hosts to check, and the input of their checks. */
export interface PrecheckRequest {
  hosts: PrecheckHost[];
  /** CIDRs of the pods and the Services. */
  networks: readonly string[];
  /** Pod network, named as in `addons.network`. */
  podNetwork: string;
  /** `precheck_limits` of a site. */
  limits: unknown;
}

export interface Login {
  username: string;
  privateKey?: string | undefined;
  password?: string | undefined;
  /** Lines of known_hosts. */
  knownHosts: string;
}

const roleOf = (member: Member): HostRole =>
  isMaster(member) ? 'control-plane' : isEtcdOnly(member) ? 'etcd' : 'worker';

/**
 * Returns the hosts in the lists of a spec, all of which are to join; `clusterId` is '' for a cluster that does not exist
 * yet.
 */
export function precheckHosts(
  lists: Pick<ClusterSpec, ListName | 'externalLoadBalancer'>,
  { username, ...secrets }: Login,
  clusterId: string,
): PrecheckHost[] {
  const members = [...membersOf(lists).values()];
  const stacked = members.every((member) => !hasEtcd(member) || isMaster(member));
  return members.map((member) => ({
    name: member.name,
    ip: member.ip,
    role: roleOf(member),
    isMaster: isMaster(member),
    behindBalancer: lists.externalLoadBalancer !== undefined,
    withEtcd: hasEtcd(member),
    kubeadmMakesEtcd: stacked && hasEtcd(member),
    clusterId,
    ownClusters: clusterId === '' ? [] : [clusterId],
    reclaim: member.reclaim,
    target: {
      host: member.ip,
      port: member.port ?? 22,
      user: member.user ?? username,
      timeoutMs: SSH_TIMEOUT_MS,
      ...secrets,
    },
  }));
}
