import { expect, it } from 'vitest';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { limitProblems, parseLimits } from './limits.ts';

const LIMITS = `
default: { clusters: 2, hosts: 3, networks: [10.0.0.0/8, "fd00::/8"] }
namespaces:
  free: { clusters: 9, hosts: 99, timeoutMinutes: 3000 }
`;
const cluster = (name: string, ips: readonly string[], timeout?: string): KubernetesCluster => ({
  metadata: { name },
  spec: {
    cluster: { masterList: ips.map((ip) => ({ ip })), ...(timeout ? { timeout_mins: timeout } : {}) },
  },
});
/** Returns the fields and reasons of a write in a namespace with these other clusters. */
async function reasons(
  next: KubernetesCluster,
  { old, others = [], text = LIMITS, namespace = 'team' }: Given = {},
): Promise<string[]> {
  const write = { old, next, namespace, name: next.metadata.name ?? '' };
  const problems = await limitProblems(
    write,
    () => parseLimits(text),
    async () => others,
  );
  return problems.map(({ field, reason }) => `${field}: ${reason}`);
}
interface Given {
  old?: KubernetesCluster;
  others?: KubernetesCluster[];
  text?: string | undefined;
  namespace?: string;
}

const one = cluster('one', ['10.0.0.1', '10.0.0.2']);
const outside =
  /^spec\.cluster\.masterList\[0\]\.ip: 192\.0\.2\.1 is in no network .* namespace "team".*10\.0\.0\.0\/8/;

it.each<[string, KubernetesCluster, Given, (RegExp | string)[]]>([
  ['a cluster within its limits', one, {}, []],
  ['a host outside of the networks', cluster('a', ['192.0.2.1']), {}, [outside]],
  ['an IPv4 address written as IPv6', cluster('a', ['::ffff:10.1.2.3']), {}, []],
  [
    'a third cluster',
    cluster('c', ['10.0.0.1']),
    { others: [one, cluster('two', [])] },
    [/^metadata\.name: is one more than the 2 clusters that namespace "team" may have/],
  ],
  [
    'hosts that others have too',
    cluster('b', ['10.0.0.3', '10.0.0.4']),
    { others: [one] },
    [/^spec\.cluster: .*would have 4, and it may have 3/],
  ],
  [
    'a host of another cluster again',
    cluster('b', ['10.0.0.1', '10.0.0.2', '10.0.0.3']),
    { others: [one] },
    [],
  ],
  [
    'a namespace of its own limits',
    cluster('b', ['192.0.2.1']),
    { namespace: 'free' },
    [/may name hosts of/],
  ],
  [
    'more time than the default',
    cluster('a', ['10.0.0.1'], '999999'),
    {},
    [/^spec\.cluster\.timeout_mins: is more than the 1440 minutes .* write at most "1440"/],
  ],
  ['more time where that is allowed', cluster('a', ['10.0.0.1'], '2000'), { namespace: 'free' }, []],
])('%s', async (_what, next, given, expected) => {
  expect(await reasons(next, given)).toEqual(
    expected.map((reason) => (typeof reason === 'string' ? reason : expect.stringMatching(reason))),
  );
});

it('allows edits of a cluster that exceeds new limits, but no growth', async () => {
  const old = cluster('old', ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'], '9999');
  const fewer = cluster('old', ['192.0.2.1', '192.0.2.2'], '9999');
  expect(await reasons(fewer, { old, text: 'not: [right' })).toEqual([]);
  expect(await reasons(fewer, { old })).toEqual([]);
  const more = cluster('old', ['192.0.2.1', '10.0.0.1'], '9999');
  expect(await reasons(more, { old: fewer })).toEqual([]);
  expect(await reasons(cluster('old', ['192.0.2.5'], '9999'), { old })).toHaveLength(1);
});

it.each([
  ['namespaces: [', 'is not YAML'],
  ['default: { hosts: many }', 'default.hosts: '],
  ['default: { networks: [10.0.0.1/8] }', 'default.networks.0: is not a CIDR'],
  ['defaults: {}', 'Unrecognized key'],
])('refuses added hosts while the limits are invalid: %s', async (text, why) => {
  const [reason] = await reasons(one, { text });
  expect(reason).toContain('cannot be checked against the limits of this site: key limits.yaml of ConfigMap');
  expect(reason).toContain(why);
});

it('sets only a time limit if there is no text', async () => {
  expect(await reasons(cluster('a', ['192.0.2.1'], '1440'), { text: '' })).toEqual([]);
  expect(parseLimits(undefined)).toEqual({ limits: { default: {}, namespaces: {} } });
});
