import { type ClusterHost, isMaster } from '#api/cluster-host.ts';
import { ACTIONS, type Action, type PlannedHost, type RunSpec } from './run-spec.ts';

/** Variables of one host, as the playbooks read them (ansible/README.md). */
export interface HostVars {
  ansible_host: string;
  ansible_port: number;
  ansible_user: string;
  ip: string;
  access_ip: string;
  node_name: string;
  node_labels?: Record<string, string>;
  node_taints?: NonNullable<ClusterHost['taints']>;
  node_labels_before?: Record<string, string>;
  node_taints_before?: NonNullable<ClusterHost['taints']>;
  schedulable?: boolean;
  reclaim?: string;
  sudo_asks?: true;
}

interface Group {
  hosts: Record<string, HostVars | Record<string, never>>;
}

/** Groups by duty, with the names of the first clients, and by action: a play works on an intersection of both. */
export type GroupName = 'kube-master' | 'kube-node' | 'etcd' | Action | 'untouched';

/** An Ansible inventory in the shape of its YAML plugin; all values are data, never templates. */
export interface Inventory {
  all: { hosts: Record<string, HostVars>; vars: Record<string, unknown>; children: Record<GroupName, Group> };
}

const varsOf = (
  { member: host, reclaim, before }: PlannedHost,
  username: string,
  sudoAsks: ReadonlySet<string>,
): HostVars => ({
  ansible_host: host.ip,
  ansible_port: host.port ?? 22,
  ansible_user: host.user ?? username,
  ip: host.ip,
  access_ip: host.ip,
  node_name: host.name,
  ...(host.labels ? { node_labels: host.labels } : {}),
  ...(host.taints ? { node_taints: host.taints } : {}),
  ...(before?.labels ? { node_labels_before: before.labels } : {}),
  ...(before?.taints ? { node_taints_before: before.taints } : {}),
  ...(isMaster(host) ? { schedulable: host.duties.includes('worker') } : {}),
  ...(reclaim === undefined ? {} : { reclaim }),
  ...(sudoAsks.has(host.ip) ? { sudo_asks: true } : {}),
});

/**
 * Returns the inventory of a run spec: exactly its hosts, each under its address. `untouched` are leaving hosts that no play
 * may connect to. On `sudoAsks` hosts, sudo needs the password.
 */
export function inventoryOf(
  runSpec: RunSpec,
  untouched: ReadonlySet<string> = new Set(),
  sudoAsks: ReadonlySet<string> = new Set(),
): Inventory {
  const { hosts, cluster, run, endpoint } = runSpec;
  const group = (is: (host: PlannedHost) => boolean): Group => ({
    hosts: Object.fromEntries(hosts.filter(is).map(({ member: host }) => [host.ip, {}])),
  });
  const having = (duty: ClusterHost['duties'][number]) =>
    group(({ member: host }) => host.duties.includes(duty));
  const [join, change, leave, stay] = ACTIONS.map((action) => group((host) => host.action === action));
  const none: Group = { hosts: {} };
  return {
    all: {
      hosts: Object.fromEntries(
        hosts.map((host) => [host.member.ip, varsOf(host, runSpec.username, sudoAsks)]),
      ),
      vars: {
        ...runSpec.vars,
        cluster_name: cluster.name,
        cluster_id: cluster.id,
        control_plane_endpoint_name: endpoint.name,
        control_plane_endpoint_address: endpoint.address,
        // The epoch that each host's fence checks before every command (ansible/README.md, The fence).
        operation_sequence: run.sequence,
        operation_attempt: run.attempt,
      },
      children: {
        'kube-master': having('control-plane'),
        'kube-node': group(({ member: host }) => host.duties.includes('worker') && !isMaster(host)),
        etcd: having('etcd'),
        join: join ?? none,
        change: change ?? none,
        leave: leave ?? none,
        stay: stay ?? none,
        untouched: group(({ member: host }) => untouched.has(host.ip)),
      },
    },
  };
}
