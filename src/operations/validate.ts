import { canonicalIp, type HostEntry, LISTS, nodeNameOf } from '#api/host.ts';
import { DEFAULTS, type Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';
import { drainProblems } from './drain.ts';
import { hookProblems } from './hooks.ts';
import { manifestProblems } from './manifests.ts';
import type { Offer } from './resolve.ts';
import { scheduleProblems } from './snapshot-schedule.ts';
import { addressProblems } from './validate-addresses.ts';
import { kubeadmProblems } from './validate-kubeadm.ts';
import { networkProblems } from './validate-networks.ts';
import { policyProblems } from './validate-policy.ts';

const at = (field: string): string => `spec.cluster.${field}`;

/**
 * Returns all problems of a spec itself, whatever operation uses it. `present` is the version of the cluster: an existing
 * cluster can be managed even if its version can no longer be installed.
 */
export function validateSpec(spec: Spec, offer: Offer, present?: string): Problem[] {
  return [
    ...offered(spec, offer, present),
    ...networkProblems(spec),
    ...addressProblems(spec, offer),
    ...hosts(spec),
    ...controlPlane(spec),
    ...kubeadmProblems(spec),
    ...drainProblems(spec),
    ...manifestProblems(spec),
    ...hookProblems(spec, offer),
    ...policyProblems(spec),
    ...scheduleProblems(spec),
  ];
}

function offered({ cluster }: Spec, offer: Offer, present: string | undefined): Problem[] {
  const problems: Problem[] = [];
  const { clusterType = DEFAULTS.clusterType, deployMode = DEFAULTS.deployMode, kubeVersion } = cluster;
  if (clusterType !== 'kubernetes') {
    problems.push({
      field: at('clusterType'),
      value: clusterType,
      reason: 'NotOffered; choose "kubernetes"',
    });
  }
  if (deployMode !== 'container') {
    problems.push({ field: at('deployMode'), value: deployMode, reason: 'NotOffered; choose "container"' });
  }
  if (kubeVersion !== undefined && kubeVersion !== present && !offer.versions.includes(kubeVersion)) {
    const versions = offer.versions.join(', ');
    problems.push({
      field: at('kubeVersion'),
      value: kubeVersion,
      reason: `is not offered; choose one of ${versions}`,
    });
  }
  if (cluster.authConfig?.password !== undefined || cluster.authConfig?.privateSSHKey !== undefined) {
    problems.push({
      field: at(`authConfig.${cluster.authConfig.password === undefined ? 'privateSSHKey' : 'password'}`),
      reason:
        'is not allowed in an object; put it in a Secret and name that Secret in spec.cluster.credentialsSecret',
    });
  }
  return problems;
}

function hosts({ cluster }: Spec): Problem[] {
  const problems: Problem[] = [];
  const byName = new Map<string, string>();
  const entries = new Map<string, unknown>();
  const nodes = new Set([...(cluster.masterList ?? []), ...(cluster.nodeList ?? [])].map(addressOf));
  for (const list of LISTS) {
    const seen = new Set<string>();
    for (const [index, host] of (cluster[list] ?? []).entries()) {
      const ip = canonicalIp(host.ip) ?? host.ip;
      const field = at(`${list}[${index}]`);
      if (seen.has(ip))
        problems.push({ field: `${field}.ip`, value: host.ip, reason: `is listed twice in ${list}` });
      seen.add(ip);
      const name = nodeNameOf(host);
      const other = byName.get(name);
      if (other !== undefined && other !== ip) {
        problems.push({ field: `${field}.name`, value: name, reason: `is also the name of ${other}` });
      }
      byName.set(name, ip);
      if (list === 'etcdList' && !nodes.has(ip) && (host.labels || host.taints)) {
        const reason = 'no node stands for a host of etcd alone; leave its labels and taints out';
        problems.push({ field: `${field}.${host.labels ? 'labels' : 'taints'}`, value: host.ip, reason });
      }
      const entry = canonicalJson([host.name, host.port, host.user]);
      if (entries.has(ip) && entries.get(ip) !== entry) {
        problems.push({
          field,
          value: host.ip,
          reason: 'differs in name, port or user from its entry in another list',
        });
      }
      entries.set(ip, entry);
    }
  }
  return problems;
}

/** Most members that etcd recommends (etcd.io, FAQ, What is maximum cluster size). */
const MOST_MEMBERS = 5;
/** Control planes without etcd need no quorum, but every balancer has each of them as a target. */
const MOST_API_SERVERS = 9;

/** Refuses a number of etcd hosts that does not improve the quorum. */
function controlPlane({ cluster }: Spec): Problem[] {
  const masters = cluster.masterList ?? [];
  const etcd = cluster.etcdList ?? [];
  if (masters.length === 0)
    return [{ field: at('masterList'), reason: 'is required; name 1, 3 or 5 control plane hosts' }];
  const addresses = new Set(masters.map(addressOf));
  const shared = etcd.filter((host) => addresses.has(addressOf(host)));
  const isExternal = etcd.length > 0 && shared.length < Math.max(etcd.length, masters.length);
  if (!isExternal)
    return numberProblems('masterList', masters.length, 'control plane hosts; etcd runs on them, and ');
  const problems = numberProblems('etcdList', etcd.length, 'hosts of etcd; ');
  if (masters.length > MOST_API_SERVERS)
    problems.push({
      field: at('masterList'),
      reason: `names ${masters.length} control plane hosts; name at most ${MOST_API_SERVERS}`,
    });
  if (shared.length === 0) return problems;
  const both = shared.map(({ ip }) => ip).join(', ');
  const reason = `names ${both}, which masterList names as well; name the same hosts as masterList, or none of them`;
  return [...problems, { field: at('etcdList'), reason }];
}

const addressOf = ({ ip }: HostEntry): string => canonicalIp(ip) ?? ip;

function numberProblems(list: 'masterList' | 'etcdList', count: number, what: string): Problem[] {
  const field = at(list);
  if (count % 2 === 0) {
    const reason =
      `names ${count} ${what}${count} members bear the loss of ` +
      `${borne(count)} like ${count - 1} do; name 1, 3 or 5`;
    return [{ field, reason }];
  }
  if (count <= MOST_MEMBERS) return [];
  const reason = `names ${count} ${what}more than ${MOST_MEMBERS} members only slow it; name 1, 3 or 5`;
  return [{ field, reason }];
}

/** Returns how many etcd members may fail: a quorum is more than half (etcd.io, FAQ, failure tolerance). */
const borne = (hosts: number): number => Math.floor((hosts - 1) / 2);
