import { z } from 'zod';
import { canonicalIp, hostSchema, LISTS, type ListName, nodeNameOf } from './host.ts';
import type { ClusterSpec } from './kubernetes-cluster.ts';

/** Duties of a host in a cluster; a host in several lists has several. */
export const DUTIES = ['control-plane', 'etcd', 'worker'] as const;
export type Duty = (typeof DUTIES)[number];

/**
 * A host with all fields of its list entries. `ip` is canonical and identifies the host; `name` is the node name. `reclaim`
 * is the id of a cluster whose remains may be wiped before the host is taken.
 */
export const clusterHostSchema = hostSchema
  .omit({ role: true })
  .extend({ name: z.string().max(63), duties: z.array(z.enum(DUTIES)) });
export type ClusterHost = z.infer<typeof clusterHostSchema>;

const DUTY_OF: Readonly<Record<ListName, Duty>> = {
  masterList: 'control-plane',
  nodeList: 'worker',
  etcdList: 'etcd',
};

/** Returns the lists of a spec as one map by canonical IP. Without an `etcdList`, etcd runs on the control planes. */
export function clusterHostsOf(cluster: Pick<ClusterSpec, ListName>): Map<string, ClusterHost> {
  const stacked = (cluster.etcdList ?? []).length === 0;
  const hosts = new Map<string, ClusterHost>();
  for (const list of LISTS) {
    for (const { role: _role, ...entry } of cluster[list] ?? []) {
      const ip = canonicalIp(entry.ip) ?? entry.ip;
      const known = hosts.get(ip);
      const more: Duty[] = list === 'masterList' && stacked ? [DUTY_OF[list], 'etcd'] : [DUTY_OF[list]];
      const duties = DUTIES.filter((duty) => known?.duties.includes(duty) || more.includes(duty));
      hosts.set(ip, { ...known, ...entry, ip, name: known?.name ?? nodeNameOf(entry), duties });
    }
  }
  return hosts;
}

type WithDuties = Pick<ClusterHost, 'duties'>;
export const isMaster = ({ duties }: WithDuties): boolean => duties.includes('control-plane');
/** Whether an etcd member runs on the host. */
export const hasEtcd = ({ duties }: WithDuties): boolean => duties.includes('etcd');
/** Whether the host only runs external etcd: it has no kubelet and no node. */
export const isEtcdOnly = ({ duties }: WithDuties): boolean => duties.every((duty) => duty === 'etcd');

/** Returns the lists of a spec with these hosts; the inverse of `clusterHostsOf`. */
export function listsOf(hosts: readonly ClusterHost[]): Pick<ClusterSpec, ListName> {
  const having = (duty: Duty) =>
    hosts.filter(({ duties }) => duties.includes(duty)).map(({ duties: _duties, ...entry }) => entry);
  const [masters, etcd] = [having('control-plane'), having('etcd')];
  const stacked =
    etcd.length === masters.length && masters.every(({ ip }) => etcd.some((one) => one.ip === ip));
  return { masterList: masters, nodeList: having('worker'), ...(stacked ? {} : { etcdList: etcd }) };
}
