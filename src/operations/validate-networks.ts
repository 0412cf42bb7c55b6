import ipaddr from 'ipaddr.js';
import { type Cidr, contains, overlaps, parseCidr } from '#api/cidr.ts';
import { canonicalIp, LISTS } from '#api/host.ts';
import { DEFAULTS, type Spec } from '#api/kubernetes-cluster.ts';
import { membersOf } from '#api/member.ts';
import type { Problem } from '#base/errors.ts';

const at = (field: string): string => `spec.cluster.${field}`;

/** The mask of each node's part of podCIDR, as the controller manager has it (--node-cidr-mask-size-ipv4, -ipv6). */
const NODE_BITS = { ipv4: 24, ipv6: 64 } as const;
const SPELLED = { ipv4: 'IPv4', ipv6: 'IPv6' } as const;

interface Net {
  field: 'podCIDR' | 'serviceCIDR';
  text: string;
  cidr: Cidr;
}

/** Problems of the networks of a spec: overlaps, sizes, families that do not fit together, the endpoint. */
export function networkProblems(spec: Spec): Problem[] {
  const { cluster } = spec;
  const nets = (['podCIDR', 'serviceCIDR'] as const).flatMap((field): Net[] => {
    const text = cluster[field] ?? DEFAULTS[field];
    const cidr = parseCidr(text);
    return cidr ? [{ field, text, cidr }] : [];
  });
  const [pod, service] = [
    nets.find(({ field }) => field === 'podCIDR'),
    nets.find(({ field }) => field === 'serviceCIDR'),
  ];
  const problems: Problem[] = [];
  if (pod && service && overlaps(pod.cidr, service.cidr))
    problems.push({ field: at('serviceCIDR'), value: service.text, reason: `overlaps podCIDR ${pod.text}` });
  return [
    ...problems,
    ...sizes(spec, pod),
    ...addresses(spec, nets),
    ...families(spec, pod),
    ...endpoint(spec),
  ];
}

function sizes({ cluster }: Spec, pod: Net | undefined): Problem[] {
  if (!pod) return [];
  const bits = NODE_BITS[pod.cidr[0].kind()];
  const count = membersOf(cluster).size;
  const room = pod.cidr[1] > bits ? 0 : 2 ** (bits - pod.cidr[1]);
  if (room >= Math.max(count, 1)) return [];
  const reason = `is too small: each host needs a /${bits} of it, there is room for ${room}, and the cluster has ${count} hosts`;
  return [{ field: at('podCIDR'), value: pod.text, reason }];
}

function addresses({ cluster }: Spec, nets: readonly Net[]): Problem[] {
  return LISTS.flatMap((list) =>
    (cluster[list] ?? []).flatMap((host, index): Problem[] => {
      const ip = canonicalIp(host.ip);
      const inside = nets.find(({ cidr }) => ip !== undefined && contains(cidr, ipaddr.parse(ip)));
      if (!inside) return [];
      const reason = `lies in ${inside.field} ${inside.text}`;
      return [{ field: at(`${list}[${index}].ip`), value: host.ip, reason }];
    }),
  );
}

/** One family for all: kubeadm takes hosts, pods and Services of one, and our pod networks are set up for IPv4. */
function families(spec: Spec, pod: Net | undefined): Problem[] {
  const { cluster, addons } = spec;
  const problems: Problem[] = [];
  const network = addons?.network ?? DEFAULTS.network;
  if (pod?.cidr[0].kind() === 'ipv6' && network !== 'none') {
    const reason = `is IPv6, for which ${network} is not offered; set spec.addons.network to "none"`;
    problems.push({ field: at('podCIDR'), value: pod.text, reason });
  }
  const family = pod?.cidr[0].kind() ?? 'ipv4';
  const service = parseCidr(cluster.serviceCIDR ?? DEFAULTS.serviceCIDR)?.[0].kind();
  if (service !== undefined && service !== family) {
    const reason = `is ${SPELLED[service]}, and podCIDR is ${SPELLED[family]}; both must be of one family`;
    problems.push({ field: at('serviceCIDR'), value: cluster.serviceCIDR, reason });
  }
  for (const list of LISTS) {
    for (const [index, { ip }] of (cluster[list] ?? []).entries()) {
      const own = ip.includes(':') ? 'ipv6' : 'ipv4';
      if (own === family) continue;
      const reason = `is ${SPELLED[own]}, and podCIDR is ${SPELLED[family]}; both must be of one family`;
      problems.push({ field: at(`${list}[${index}].ip`), value: ip, reason });
    }
  }
  return problems;
}

function endpoint({ cluster: { externalLoadBalancer: balancer } }: Spec): Problem[] {
  if (balancer === undefined || !balancer.includes(':') || canonicalIp(balancer) !== undefined) return [];
  const reason = 'must be a host name or an IP address without a port; the API is served at port 6443';
  return [{ field: at('externalLoadBalancer'), value: balancer, reason }];
}
