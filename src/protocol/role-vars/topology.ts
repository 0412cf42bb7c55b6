import type { Inputs } from './inputs.ts';

/** Returns an address as it stands before a port: an IPv6 address in brackets (RFC 3986, section 3.2.2). */
const bracketed = (address: string): string => (address.includes(':') ? `[${address}]` : address);

/** Which host is what, by the lists alone. What stands on hosts is for the roles to find out. */
export interface Topology {
  /** Hosts that leave. */
  leaving: string[];
  /** Control planes that stay or join. */
  controlPlanes: string[];
  /** Hosts of etcd members that stay or join. */
  etcdMembers: string[];
  /** Whether etcd runs on hosts that are no control planes. */
  externalEtcd: boolean;
  /** Hosts that only run etcd: no kubelet runs there. */
  etcdOnly: string[];
  /** Client URLs of etcd by host. */
  etcdUrls: Record<string, string>;
  nodeNames: Record<string, string>;
  /** Whether the API servers have no address but those of the control planes, and their name is only in /etc/hosts. */
  ownEndpoint: boolean;
  /** Address and port of the API as clients use it. */
  endpoint: string;
  isMaster(host: string): boolean;
  /** Whether a member of external etcd runs on the host. */
  isEtcdMember(host: string): boolean;
  /** Whether the host reaches the API servers through a balancer of its own. */
  isBalanced(host: string): boolean;
  ip(host: string): string;
}

export function topologyOf({ vars, hosts, group }: Inputs): Topology {
  const [masters, etcd] = [group('kube-master'), group('etcd')];
  const leaving = group('leave');
  const stays = (host: string): boolean => !leaving.includes(host);
  const controlPlanes = masters.filter(stays);
  const etcdMembers = etcd.filter(stays);
  const externalEtcd = etcdMembers.some((host) => !masters.includes(host));
  const workers = new Set(group('kube-node'));
  const etcdOnly = etcd.filter((host) => !masters.includes(host) && !workers.has(host));
  const ip = (host: string): string => hosts[host]?.ip ?? host;
  const { control_plane_endpoint_name: name, control_plane_endpoint_address: address } = vars;
  const ownEndpoint = address !== name && controlPlanes.map(ip).includes(address);
  const isMaster = (host: string): boolean => masters.includes(host);
  return {
    leaving,
    controlPlanes,
    etcdMembers,
    externalEtcd,
    etcdOnly,
    etcdUrls: Object.fromEntries(
      Object.keys(hosts).map((host) => [host, `https://${bracketed(ip(host))}:2379`]),
    ),
    nodeNames: Object.fromEntries(Object.entries(hosts).map(([host, { node_name }]) => [host, node_name])),
    ownEndpoint,
    endpoint: `${bracketed(name)}:${vars.control_plane_endpoint_port}`,
    isMaster,
    isEtcdMember: (host) => externalEtcd && etcdMembers.includes(host),
    isBalanced: (host) =>
      ownEndpoint && controlPlanes.length > 1 && !isMaster(host) && !etcdOnly.includes(host),
    ip,
  };
}

/** Returns `--initial-cluster` of etcd (etcd.io, Clustering Guide): name and peer URL of each member. */
export const initialCluster = ({ etcdMembers, nodeNames, ip }: Topology): string =>
  etcdMembers.map((host) => `${nodeNames[host]}=https://${bracketed(ip(host))}:2380`).join(',');

const loopbackOf = (address: string): string => (address.includes(':') ? '::1' : '127.0.0.1');

/**
 * Returns the addresses behind the API's name in a host's /etc/hosts. A control plane lists itself first; the others answer
 * until its own API server runs.
 */
function endpointAddresses(host: string, topology: Topology, { vars }: Inputs): string[] {
  const { control_plane_endpoint_name: name, control_plane_endpoint_address: address } = vars;
  const { ownEndpoint, controlPlanes, isMaster, isBalanced, ip } = topology;
  if (!ownEndpoint) return ['', name].includes(address) ? [] : [address];
  if (isBalanced(host)) return [loopbackOf(ip(host))];
  return [
    ...(isMaster(host) ? [ip(host)] : []),
    ...controlPlanes.map(ip).filter((other) => other !== ip(host)),
  ];
}

/** Returns the variables of one host. */
export const hostVarsOf = (host: string, topology: Topology, inputs: Inputs) => ({
  is_master: topology.isMaster(host),
  is_etcd_member: topology.isEtcdMember(host),
  is_etcd_only: topology.etcdOnly.includes(host),
  balanced: topology.isBalanced(host),
  loopback: loopbackOf(topology.ip(host)),
  endpoint_addresses: endpointAddresses(host, topology, inputs),
});
