import { hostImages, imageVars } from './images.ts';
import { type Inputs, inputsOf } from './inputs.ts';
import { etcdDocuments, kubeadmDocuments } from './kubeadm.ts';
import { networkVars } from './network.ts';
import { hostVarsOf, initialCluster, type Topology, topologyOf } from './topology.ts';

/** Hosts with equal duties load the same images: the inventory has each list once. */
const imageSetOf = (host: string, { isMaster, isBalanced, isEtcdMember, etcdOnly }: Topology): string => {
  const duties = [
    ...(isEtcdMember(host) ? ['external-etcd'] : []),
    ...(isMaster(host) ? ['control-plane'] : []),
    ...(isBalanced(host) ? ['balanced'] : []),
    ...(etcdOnly.includes(host) ? ['no-kubelet'] : []),
  ];
  return duties.length > 0 ? duties.join('+') : 'node';
};

function sharedVars(inputs: Inputs, topology: Topology) {
  const { hosts, group } = inputs;
  const imageSets = new Map(Object.keys(hosts).map((host) => [imageSetOf(host, topology), host]));
  const documented = [...new Set([...group('etcd'), ...group('kube-master')])];
  return {
    leaving: topology.leaving,
    control_planes: topology.controlPlanes,
    etcd_members: topology.etcdMembers,
    external_etcd: topology.externalEtcd,
    etcd_only: topology.etcdOnly,
    etcd_urls: topology.etcdUrls,
    etcd_endpoints: topology.etcdMembers.flatMap((host) => topology.etcdUrls[host] ?? []).join(','),
    etcd_initial_cluster: initialCluster(topology),
    etcd_documents_of: Object.fromEntries(
      documented.map((host) => [host, etcdDocuments(host, topology, inputs)]),
    ),
    node_names: topology.nodeNames,
    endpoint: topology.endpoint,
    image_sets: Object.fromEntries(
      [...imageSets].map(([set, host]) => [set, hostImages(host, topology, inputs)]),
    ),
    ...imageVars(inputs),
    ...networkVars(inputs),
    ...kubeadmDocuments(inputs, topology),
  };
}

/** An inventory whose hosts and variables are still to be completed. */
interface Hosts<Host> {
  hosts: Record<string, Host>;
  vars: Record<string, unknown>;
}

/**
 * Adds to an inventory what follows from its lists and variables alone, so that roles decide only by what they find on hosts.
 * The variables are listed in ansible/README.md (Derived variables). Throws if a variable is missing.
 */
export function withRoleVars<Host extends object, All extends Hosts<Host>>(all: All) {
  const inputs = inputsOf(all);
  const topology = topologyOf(inputs);
  const derived = (host: string) => ({
    ...hostVarsOf(host, topology, inputs),
    image_set: imageSetOf(host, topology),
  });
  const hosts = Object.entries(all.hosts).map(([host, vars]): [string, Host & ReturnType<typeof derived>] => [
    host,
    { ...vars, ...derived(host) },
  ]);
  return { ...all, hosts: Object.fromEntries(hosts), vars: { ...all.vars, ...sharedVars(inputs, topology) } };
}
