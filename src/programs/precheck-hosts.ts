import { type ClusterHost, clusterHostsOf, hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import type { ListName } from '#api/host.ts';
import type { ClusterSpec } from '#api/kubernetes-cluster.ts';
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

const roleOf = (host: ClusterHost): HostRole =>
  isMaster(host) ? 'control-plane' : isEtcdOnly(host) ? 'etcd' : 'worker';

/**
 * Returns the hosts in the lists of a spec, all of which are to join; `clusterId` is '' for a cluster that does not exist
 * yet.
 */
export function precheckHosts(
  lists: Pick<ClusterSpec, ListName | 'externalLoadBalancer'>,
  { username, ...secrets }: Login,
  clusterId: string,
): PrecheckHost[] {
  const hosts = [...clusterHostsOf(lists).values()];
  const stacked = hosts.every((host) => !hasEtcd(host) || isMaster(host));
  return hosts.map((host) => ({
    name: host.name,
    ip: host.ip,
    role: roleOf(host),
    isMaster: isMaster(host),
    behindBalancer: lists.externalLoadBalancer !== undefined,
    withEtcd: hasEtcd(host),
    kubeadmMakesEtcd: stacked && hasEtcd(host),
    clusterId,
    ownClusters: clusterId === '' ? [] : [clusterId],
    reclaim: host.reclaim,
    target: {
      host: host.ip,
      port: host.port ?? 22,
      user: host.user ?? username,
      timeoutMs: SSH_TIMEOUT_MS,
      ...secrets,
    },
  }));
}
