import { canonicalIp, LISTS, nodeNameOf } from '#api/host.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import { networkProblems } from './validate-networks.ts';

const LIST = 'spec.policy.replaceFrom';

/** Returns the problems of `spec.policy`. */
export const policyProblems = (spec: Spec): Problem[] => [...windowProblems(spec), ...spareProblems(spec)];

function windowProblems({ policy }: Spec): Problem[] {
  const { from, to } = policy?.autoRenew ?? {};
  const field = 'spec.policy.autoRenew';
  if (from === undefined && to === undefined) return [];
  if (from === undefined) return [{ field: `${field}.from`, reason: 'is required beside "to"' }];
  if (to === undefined) return [{ field: `${field}.to`, reason: 'is required beside "from"' }];
  const reason = 'equals "from"; leave out both for any time of the day';
  return from === to ? [{ field: `${field}.to`, value: to, reason }] : [];
}

/** Returns the problems of spare hosts: each must be able to replace a host with the fields given here. */
function spareProblems(spec: Spec): Problem[] {
  const { cluster, policy } = spec;
  const spares = policy?.replaceFrom ?? [];
  if (spares.length === 0) return [];
  const problems: Problem[] = [];
  const listOf = new Map<string, string>();
  const byName = new Map<string, string>();
  for (const list of LISTS) {
    for (const host of cluster[list] ?? []) {
      const ip = canonicalIp(host.ip) ?? host.ip;
      listOf.set(ip, list);
      byName.set(nodeNameOf(host), ip);
    }
  }
  for (const [index, host] of spares.entries()) {
    const ip = canonicalIp(host.ip) ?? host.ip;
    const field = `${LIST}[${index}]`;
    const list = listOf.get(ip);
    if (list !== undefined) {
      const reason =
        list === LIST
          ? 'is listed twice in replaceFrom'
          : `is a host of ${list} already; take it out of replaceFrom`;
      problems.push({ field: `${field}.ip`, value: host.ip, reason });
    }
    listOf.set(ip, LIST);
    const name = nodeNameOf(host);
    const other = byName.get(name);
    if (other !== undefined && other !== ip)
      problems.push({ field: `${field}.name`, value: name, reason: `is also the name of ${other}` });
    byName.set(name, ip);
  }
  return [...problems, ...addressProblems(spec, spares)];
}

/** Returns the address problems of spares, by the rules for host addresses. */
function addressProblems(spec: Spec, spares: NonNullable<Spec['cluster']['nodeList']>): Problem[] {
  const place = /^spec\.cluster\.nodeList(?=\[)/;
  const asHosts = { ...spec, cluster: { ...spec.cluster, masterList: [], etcdList: [], nodeList: spares } };
  return networkProblems(asHosts)
    .filter(({ field }) => place.test(field))
    .map((problem) => ({ ...problem, field: problem.field.replace(place, LIST) }));
}
