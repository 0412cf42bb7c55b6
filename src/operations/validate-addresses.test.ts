import { expect, it } from 'vitest';
import { addressProblems, NO_HOSTS, ownNetworks } from './validate-addresses.ts';

const own = ['192.0.2.10/32', '10.245.0.0/16', 'fd00:10:245::/56'];
const offer = { versions: [], reservedNetworks: [...NO_HOSTS, ...ownNetworks(own)] };
const problems = (...ips: string[]) =>
  addressProblems({ cluster: { nodeList: ips.map((ip) => ({ ip })) } }, offer).map(
    ({ field, value, reason }) => `${field} ${String(value)} ${reason}`,
  );

it.each([
  ['127.0.0.1', 'loopback'],
  ['0.0.0.0', 'stands for no host'],
  ['169.254.169.254', 'link-local'],
  ['224.0.0.1', 'multicast'],
  ['255.255.255.255', 'broadcast'],
  ['240.0.0.1', 'reserved network'],
  ['::1', 'loopback'],
  ['fe80::1', 'link-local'],
  ['ff02::1', 'multicast'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['192.0.2.10', 'lies in 192.0.2.10/32, which the meta cluster itself uses'],
  ['10.245.3.4', 'lies in 10.245.0.0/16'],
  ['fd00:10:245::9', 'lies in fd00:10:245::/56'],
])('refuses %s as a host', (ip, reason) => {
  expect(problems('192.0.2.11', ip)).toEqual([
    expect.stringMatching(new RegExp(`^spec\\.cluster\\.nodeList\\[1\\]\\.ip ${ip} .*${reason}`)),
  ]);
});

it('accepts addresses of hosts, and leaves invalid text to the schema', () => {
  expect(problems('192.0.2.11', '10.1.2.3', 'fd00::1', '2001:db8::1', 'nowhere')).toEqual([]);
});

it('refuses such an address as a spare host', () => {
  const spec = { cluster: {}, policy: { replaceFrom: [{ ip: '127.0.0.1' }], controlPlaneAwayMinutes: 5 } };
  expect(addressProblems(spec, offer)).toMatchObject([{ field: 'spec.policy.replaceFrom[0].ip' }]);
});

it.each(['127.0.0.1', '10.245.0.8'])('refuses %s as the load balancer, and accepts names', (balancer) => {
  const problem = { field: 'spec.cluster.externalLoadBalancer', value: balancer };
  expect(addressProblems({ cluster: { externalLoadBalancer: balancer } }, offer)).toMatchObject([problem]);
  expect(addressProblems({ cluster: { externalLoadBalancer: 'api.example' } }, offer)).toEqual([]);
});
