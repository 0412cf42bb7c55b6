import ipaddr from 'ipaddr.js';
import { type Cidr, contains, overlaps, partsOf } from '#api/cidr.ts';
import { clusterHostsOf } from '#api/cluster-host.ts';
import { canonicalIp, isDnsName, LISTS } from '#api/host.ts';
import { DEFAULTS, type Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';

const at = (field: string): string => `spec.cluster.${field}`;

/** The mask of each node's part of podCIDR in the controller manager (--node-cidr-mask-size-ipv4, -ipv6). */
const NODE_BITS = { ipv4: 24, ipv6: 64 } as const;
const SPELLED = { ipv4: 'IPv4', ipv6: 'IPv6' } as const;

/** Most bits between podCIDR and a node's part, and most bits of addresses of serviceCIDR (kubeadm, constants). */
const MOST_NODE_BITS = 16;
const MOST_SERVICE_BITS = 20;
/** serviceCIDR needs at least ten addresses, and CoreDNS gets the tenth (kubeadm, constants). */
const LEAST_SERVICE_BITS = 4;
const FIELDS = ['podCIDR', 'serviceCIDR'] as const;

/** A network of a field; a field has at most one of each family. */
interface Net {
  field: (typeof FIELDS)[number];
  text: string;
  cidr: Cidr;
}

/** Returns the problems of the networks of a spec: overlaps, sizes, mismatched families, the endpoint. */
export function networkProblems(spec: Spec): Problem[] {
  const { cluster } = spec;
  const nets = FIELDS.flatMap((field) =>
    partsOf(cluster[field] ?? DEFAULTS[field]).flatMap(({ text, cidr }): Net[] =>
      cidr ? [{ field, text, cidr }] : [],
    ),
  );
  const pods = nets.filter(({ field }) => field === 'podCIDR');
  const services = nets.filter(({ field }) => field === 'serviceCIDR');
  return [
    ...services.flatMap((service): Problem[] => {
      const pod = pods.find(({ cidr }) => overlaps(cidr, service.cidr));
      const reason = `overlaps podCIDR ${pod?.text}`;
      return pod ? [{ field: at('serviceCIDR'), value: service.text, reason }] : [];
    }),
    ...pods.flatMap((pod) => podSize(spec, pod)),
    ...services.flatMap(serviceSize),
    ...addresses(spec, nets),
    ...families(spec, pods, services),
    ...endpoint(spec),
  ];
}

function podSize({ cluster }: Spec, { text, cidr }: Net): Problem[] {
  const bits = NODE_BITS[cidr[0].kind()];
  const field = at('podCIDR');
  const least = bits - MOST_NODE_BITS;
  if (cidr[1] < least) {
    const reason = `is too large: each host takes a /${bits} of it, and it may be a /${least} at most`;
    return [{ field, value: text, reason }];
  }
  const count = clusterHostsOf(cluster).size;
  const room = cidr[1] > bits ? 0 : 2 ** (bits - cidr[1]);
  if (room >= Math.max(count, 1)) return [];
  const reason = `is too small: each host needs a /${bits} of it, there is room for ${room}, and the cluster has ${count} hosts`;
  return [{ field, value: text, reason }];
}

function serviceSize({ text, cidr }: Net): Problem[] {
  const all = cidr[0].kind() === 'ipv6' ? 128 : 32;
  const [largest, smallest] = [all - MOST_SERVICE_BITS, all - LEAST_SERVICE_BITS];
  if (cidr[1] >= largest && cidr[1] <= smallest) return [];
  const reason = `is too ${cidr[1] < largest ? 'large' : 'small'}; choose a prefix from /${largest} to /${smallest}`;
  return [{ field: at('serviceCIDR'), value: text, reason }];
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

const familiesOf = (nets: readonly Net[]): string =>
  nets.map(({ cidr }) => SPELLED[cidr[0].kind()]).join(' and ');

/**
 * Refuses mismatched families. Pods and Services have the same families in the same order, and host addresses are of the
 * first. An API server advertises an address of its Services' first family (kube-apiserver, --advertise-address).
 */
function families(spec: Spec, pods: readonly Net[], services: readonly Net[]): Problem[] {
  const { cluster, addons } = spec;
  const problems: Problem[] = [];
  const wanted = familiesOf(pods);
  const network = addons?.network ?? DEFAULTS.network;
  const value = pods.map(({ text }) => text).join(',');
  const first = pods.length === 2 ? 'ipv4' : (pods[0]?.cidr[0].kind() ?? 'ipv4');
  if (pods.length === 2 && pods[0]?.cidr[0].kind() === 'ipv6') {
    const reason = 'names the IPv6 network first; name the IPv4 one first, by which hosts are called';
    problems.push({ field: at('podCIDR'), value, reason });
  } else if (wanted.includes(SPELLED.ipv6) && network === 'flannel-policies') {
    const reason = `is ${wanted}, for which ${network} is not offered; set spec.addons.network to "flannel" or "none"`;
    problems.push({ field: at('podCIDR'), value, reason });
  }
  const has = familiesOf(services);
  if (pods.length > 0 && services.length > 0 && has !== wanted) {
    const both =
      pods.length + services.length === 2
        ? 'both must be of one family'
        : 'both must have the same families in the same order';
    const reason = `is ${has}, and podCIDR is ${wanted}; ${both}`;
    problems.push({ field: at('serviceCIDR'), value: cluster.serviceCIDR ?? DEFAULTS.serviceCIDR, reason });
  }
  for (const list of LISTS) {
    for (const [index, { ip }] of (cluster[list] ?? []).entries()) {
      const own = ip.includes(':') ? 'ipv6' : 'ipv4';
      if (own === first) continue;
      const reason =
        pods.length === 2
          ? `is ${SPELLED[own]}; where podCIDR has both families, name a host by its ${SPELLED[first]} address`
          : `is ${SPELLED[own]}, and podCIDR is ${SPELLED[first]}; both must be of one family`;
      problems.push({ field: at(`${list}[${index}].ip`), value: ip, reason });
    }
  }
  return problems;
}

function endpoint({ cluster: { externalLoadBalancer: balancer } }: Spec): Problem[] {
  if (balancer === undefined || canonicalIp(balancer) !== undefined || isDnsName(balancer)) return [];
  const reason = balancer.includes(':')
    ? 'must be a host name or an IP address without a port; the API is served at port 6443'
    : 'is no name that kubeadm takes; write it in lower-case letters, digits, "-" and single dots (RFC 1123)';
  return [{ field: at('externalLoadBalancer'), value: balancer, reason }];
}
