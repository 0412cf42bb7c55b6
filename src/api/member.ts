import { z } from 'zod';
import { canonicalIp, hostSchema, LISTS, type ListName, nodeNameOf } from './host.ts';
import type { ClusterSpec } from './kubernetes-cluster.ts';

/** Duties of a host in a cluster; one that stands in several lists has several. */
export const DUTIES = ['control-plane', 'etcd', 'worker'] as const;
export type Duty = (typeof DUTIES)[number];

/**
 * One host with everything that the lists say of it: `ip` is canonical and is who it is, `name` is its node name.
 * `reclaim` is the id of a cluster whose remains may be wiped there before it is taken.
 */
export const memberSchema = hostSchema
  .omit({ role: true })
  .extend({ name: z.string().max(63), duties: z.array(z.enum(DUTIES)) });
export type Member = z.infer<typeof memberSchema>;

const DUTY_OF: Readonly<Record<ListName, Duty>> = {
  masterList: 'control-plane',
  nodeList: 'worker',
  etcdList: 'etcd',
};

/**
 * The lists of a spec as one map from canonical IP. Without an `etcdList` of its own a cluster has etcd on its control
 * plane hosts.
 */
export function membersOf(cluster: Pick<ClusterSpec, ListName>): Map<string, Member> {
  const stacked = (cluster.etcdList ?? []).length === 0;
  const members = new Map<string, Member>();
  for (const list of LISTS) {
    for (const { role: _role, ...entry } of cluster[list] ?? []) {
      const ip = canonicalIp(entry.ip) ?? entry.ip;
      const known = members.get(ip);
      const more: Duty[] = list === 'masterList' && stacked ? [DUTY_OF[list], 'etcd'] : [DUTY_OF[list]];
      const duties = DUTIES.filter((duty) => known?.duties.includes(duty) || more.includes(duty));
      members.set(ip, { ...known, ...entry, ip, name: known?.name ?? nodeNameOf(entry), duties });
    }
  }
  return members;
}

type WithDuties = Pick<Member, 'duties'>;
export const isMaster = ({ duties }: WithDuties): boolean => duties.includes('control-plane');
/** Whether a member of etcd runs there. */
export const hasEtcd = ({ duties }: WithDuties): boolean => duties.includes('etcd');
/** A host of etcd's own: no kubelet runs there, and no node stands for it. */
export const isEtcdOnly = ({ duties }: WithDuties): boolean => duties.every((duty) => duty === 'etcd');

/** The lists that these members make, as a spec has them; the inverse of `membersOf`. */
export function listsOf(members: readonly Member[]): Pick<ClusterSpec, ListName> {
  const having = (duty: Duty) =>
    members.filter(({ duties }) => duties.includes(duty)).map(({ duties: _duties, ...entry }) => entry);
  const [masters, etcd] = [having('control-plane'), having('etcd')];
  const stacked =
    etcd.length === masters.length && masters.every(({ ip }) => etcd.some((one) => one.ip === ip));
  return { masterList: masters, nodeList: having('worker'), ...(stacked ? {} : { etcdList: etcd }) };
}
