import { canonicalIp } from '#api/host.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { isMaster, type Member } from '#operations/members.ts';
import type { Attempt } from '../installer.ts';

/** Variables of one host, as the playbooks read them (ansible/README.md). */
interface HostVars {
  ansible_host: string;
  ip: string;
  access_ip: string;
  ansible_port: number;
  ansible_user: string;
  node_labels?: Record<string, string>;
  node_taints?: NonNullable<Member['taints']>;
  schedulable?: boolean;
  reclaim?: string;
}

interface Group {
  hosts: Record<string, HostVars | Record<string, never>>;
}

/** An Ansible inventory in the shape of its YAML plugin; all values are data, never templates. */
export interface Inventory {
  all: {
    vars: Record<string, unknown>;
    children: Record<'kube-master' | 'kube-node' | 'etcd' | 'leaving', Group>;
  };
}

/** Where clients of the new cluster's API find it: a name that never changes, and the address behind it. */
function endpointOf(
  clusterId: string,
  spec: Spec,
  masters: readonly Member[],
): { name: string; address: string } {
  const balancer = spec.cluster.externalLoadBalancer;
  const first = masters[0]?.ip ?? spec.cluster.masterList?.[0]?.ip ?? '';
  if (balancer === undefined) return { name: `api.${clusterId}.matryoshka.internal`, address: first };
  // A name of the site's own resolves by itself; written to /etc/hosts it would pin the first master.
  return { name: balancer, address: canonicalIp(balancer) ?? '' };
}

/**
 * The hosts that the attempt touches, and no others: those that join, those that leave, and the masters that it acts
 * through. Source for the group names and host variables: docs/contract.md, The Job.
 */
export function inventoryOf(attempt: Attempt): Inventory {
  const { plan, spec, clusterId, access } = attempt;
  const vars = (host: Member): HostVars => {
    const reclaim = attempt.reclaims.get(host.ip);
    return {
      ansible_host: host.ip,
      ip: host.ip,
      access_ip: host.ip,
      ansible_port: host.port ?? 22,
      ansible_user: host.user ?? access.username,
      ...(host.labels ? { node_labels: host.labels } : {}),
      ...(host.taints ? { node_taints: host.taints } : {}),
      ...(isMaster(host) ? { schedulable: host.lists.includes('nodeList') } : {}),
      ...(reclaim === undefined ? {} : { reclaim }),
    };
  };
  const group = (hosts: readonly Member[]): Group => ({
    hosts: Object.fromEntries(hosts.map((host) => [host.name, vars(host)])),
  });
  const working = [...plan.through, ...plan.joining];
  const masters = working.filter(isMaster);
  const endpoint = endpointOf(clusterId, spec, masters);
  return {
    all: {
      vars: {
        cluster_name: attempt.cluster.name,
        cluster_id: clusterId,
        kube_version: spec.cluster.kubeVersion,
        control_plane_endpoint_name: endpoint.name,
        control_plane_endpoint_address: endpoint.address,
        pod_cidr: spec.cluster.podCIDR,
        service_cidr: spec.cluster.serviceCIDR,
        network: spec.addons?.network ?? 'flannel',
        ...(spec.cluster.imagesRegistry ? { images_registry: spec.cluster.imagesRegistry } : {}),
      },
      children: {
        'kube-master': group(masters),
        'kube-node': group(working.filter((host) => !isMaster(host))),
        etcd: group(masters),
        leaving: group(plan.leaving),
      },
    },
  };
}
