import { describe, expect, it } from 'vitest';
import { cidrsSchema } from '#api/cidr.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { networkProblems } from './validate-networks.ts';

const PODS = '10.244.0.0/16,fd00:10:244::/56';
const SERVICES = '10.96.0.0/16,fd00:10:96::/112';

type Change = Partial<Spec['cluster']> & { network?: 'flannel' | 'flannel-policies' | 'none' };
function problems({ network, ...change }: Change): string[] {
  const cluster = {
    masterList: [{ ip: '10.0.0.1' }],
    nodeList: [{ ip: '10.0.0.2' }],
    podCIDR: PODS,
    serviceCIDR: SERVICES,
    ...change,
  };
  return networkProblems({ cluster, ...(network === undefined ? {} : { addons: { network } }) }).map(
    ({ field, value, reason }) => `${field.replace('spec.cluster.', '')} ${value} ${reason}`,
  );
}
const SAME = 'both must have the same families in the same order';

describe('dual-stack networks', () => {
  it.each<[string, Change]>([
    ['flannel', {}],
    ['no pod network of ours', { network: 'none' }],
    ['the largest and the smallest IPv6 networks', { podCIDR: '10.244.0.0/16,fd00::/48' }],
    [
      'IPv6 alone',
      {
        podCIDR: 'fd00:10:244::/56',
        serviceCIDR: 'fd00:10:96::/112',
        masterList: [{ ip: 'fd00:1::1' }],
        nodeList: [{ ip: 'fd00:1::2' }],
      },
    ],
    ['Services with few addresses', { serviceCIDR: '10.96.0.0/28,fd00:10:96::/124' }],
  ])('are accepted with %s', (_what, change) => {
    expect(problems(change)).toEqual([]);
  });

  it.each<[string, Change, string[]]>([
    [
      'Services of IPv4 alone',
      { serviceCIDR: '10.96.0.0/16' },
      [`serviceCIDR 10.96.0.0/16 is IPv4, and podCIDR is IPv4 and IPv6; ${SAME}`],
    ],
    [
      'pods of IPv4 alone',
      { podCIDR: '10.244.0.0/16' },
      [`serviceCIDR ${SERVICES} is IPv4 and IPv6, and podCIDR is IPv4; ${SAME}`],
    ],
    [
      'another order',
      { serviceCIDR: 'fd00:10:96::/112,10.96.0.0/16' },
      [`serviceCIDR fd00:10:96::/112,10.96.0.0/16 is IPv6 and IPv4, and podCIDR is IPv4 and IPv6; ${SAME}`],
    ],
    [
      'Services inside the IPv6 network of the pods',
      { serviceCIDR: '10.96.0.0/16,fd00:10:244:5::/112' },
      ['serviceCIDR fd00:10:244:5::/112 overlaps podCIDR fd00:10:244::/56'],
    ],
    [
      'Services inside the IPv4 network of the pods',
      { serviceCIDR: '10.244.7.0/24,fd00:10:96::/112' },
      ['serviceCIDR 10.244.7.0/24 overlaps podCIDR 10.244.0.0/16'],
    ],
    [
      'an IPv6 network that the controller manager cannot divide',
      { podCIDR: '10.244.0.0/16,fd00::/47' },
      ['podCIDR fd00::/47 is too large: each host takes a /64 of it, and it may be a /48 at most'],
    ],
    [
      'an IPv6 network with room for fewer hosts than there are',
      { podCIDR: '10.244.0.0/16,fd00:10:244::/64' },
      [
        'podCIDR fd00:10:244::/64 is too small: each host needs a /64 of it, there is room for 1, and the cluster has 2 hosts',
      ],
    ],
    [
      'Services with too many addresses',
      { serviceCIDR: '10.96.0.0/16,fd00:10:96::/64' },
      ['serviceCIDR fd00:10:96::/64 is too large; choose a prefix from /108 to /124'],
    ],
    [
      'Services with too few',
      { serviceCIDR: '10.96.0.0/29,fd00:10:96::/112' },
      ['serviceCIDR 10.96.0.0/29 is too small; choose a prefix from /12 to /28'],
    ],
    [
      'a host called by an IPv6 address',
      { nodeList: [{ ip: 'fd00:1::2' }] },
      ['nodeList[0].ip fd00:1::2 is IPv6; where podCIDR has both families, name a host by its IPv4 address'],
    ],
    [
      'the IPv6 networks first',
      {
        podCIDR: 'fd00:10:244::/56,10.244.0.0/16',
        serviceCIDR: 'fd00:10:96::/112,10.96.0.0/16',
        nodeList: [],
      },
      [
        'podCIDR fd00:10:244::/56,10.244.0.0/16 names the IPv6 network first; name the IPv4 one first, by which hosts are called',
      ],
    ],
    [
      'policies of IPv6 alone',
      {
        podCIDR: 'fd00:10:244::/56',
        serviceCIDR: 'fd00:10:96::/112',
        masterList: [{ ip: 'fd00:1::1' }],
        nodeList: [],
        network: 'flannel-policies',
      },
      [
        'podCIDR fd00:10:244::/56 is IPv6, for which flannel-policies is not offered; set spec.addons.network to "flannel" or "none"',
      ],
    ],
    [
      'policies',
      { network: 'flannel-policies' },
      [
        `podCIDR ${PODS} is IPv4 and IPv6, for which flannel-policies is not offered; set spec.addons.network to "flannel" or "none"`,
      ],
    ],
  ])('are refused with %s', (_what, change, expected) => {
    expect(problems(change)).toEqual(expected);
  });
});

describe('the spelling of networks', () => {
  const wrong = (text: string) => cidrsSchema.safeParse(text).error?.issues.map(({ message }) => message);

  it.each(['10.244.0.0/16', 'fd01::/48', 'FD01:0::/48', PODS, 'fd00:10:244::/56,10.244.0.0/16'])(
    'may be %s',
    (text) => {
      expect(wrong(text)).toBeUndefined();
    },
  );

  it.each([
    ['10.244.0.0/16, fd00:10:244::/56', `has white space; write it like ${PODS}`],
    ['10.244.0.0/16,fd00:10:244::1/56', 'is not a CIDR of a network'],
    ['10.244.0.0/16,', 'is not a CIDR of a network'],
    ['10.1.0.0/16,10.2.0.0/16', `names 2 networks; name one, or an IPv4 and an IPv6 one: ${PODS}`],
    ['10.1.0.0/16,fd01::/56,fd02::/56', 'names 3 networks'],
    ['10.244.0.0/16,FD00:10:244:0::/56', `is not in its usual spelling; write ${PODS}`],
  ])('may not be %s', (text, why) => {
    expect(wrong(text)).toEqual([expect.stringContaining(why)]);
  });
});
