import { expect, it } from 'vitest';
import type { HostEntry } from '#api/host.ts';
import { specSchema } from '#api/kubernetes-cluster.ts';
import { policyProblems } from './validate-policy.ts';

const problems = (...replaceFrom: HostEntry[]): string[] =>
  policyProblems({
    cluster: {
      masterList: [{ ip: '10.0.0.1' }],
      nodeList: [{ ip: '10.0.0.2', name: 'worker' }],
      etcdList: [{ ip: '10.0.0.3' }],
    },
    policy: { replaceFrom },
  }).map(({ field, reason }) => `${field} ${reason}`);
const [FIRST, SECOND] = ['spec.policy.replaceFrom[0]', 'spec.policy.replaceFrom[1]'];

it.each<[string, HostEntry[], string[]]>([
  ['what fits', [{ ip: '10.0.0.8', name: 'spare', labels: { rack: 'r1' } }, { ip: '10.0.0.9' }], []],
  [
    'a control plane',
    [{ ip: '10.0.0.1' }],
    [`${FIRST}.ip is a host of masterList already; take it out of replaceFrom`],
  ],
  [
    'a host of etcd, spelt differently',
    [{ ip: '10.0.0.9' }, { ip: '::ffff:10.0.0.3' }, { ip: '10.0.0.3' }],
    [
      'spec.policy.replaceFrom[2].ip is a host of etcdList already; take it out of replaceFrom',
      `${SECOND}.ip is IPv6, and podCIDR is IPv4; both must be of one family`,
    ],
  ],
  ['one twice', [{ ip: '10.0.0.9' }, { ip: '10.0.0.9' }], [`${SECOND}.ip is listed twice in replaceFrom`]],
  [
    'a name that another host has',
    [{ ip: '10.0.0.9', name: 'worker' }],
    [`${FIRST}.name is also the name of 10.0.0.2`],
  ],
  [
    'one name for two spares',
    [
      { ip: '10.0.0.8', name: 'spare' },
      { ip: '10.0.0.9', name: 'spare' },
    ],
    [`${SECOND}.name is also the name of 10.0.0.8`],
  ],
  ['an address of pods', [{ ip: '10.244.0.9' }], [`${FIRST}.ip lies in podCIDR 10.244.0.0/16`]],
])('checks spare hosts: %s', (_what, spares, expected) => {
  expect(problems(...spares)).toEqual(expected);
});

it('accepts ten spares and valid times, and refuses more', () => {
  const paths = (policy: unknown) =>
    (specSchema.safeParse({ cluster: {}, policy }).error?.issues ?? []).map(({ path }) => path.join('.'));
  const spares = (count: number) => Array.from({ length: count }, (_, at) => ({ ip: `10.0.1.${at}` }));
  expect(paths({ replaceFrom: spares(10), replaceAfterMinutes: 1440, replaceAtMostEveryHours: 720 })).toEqual(
    [],
  );
  expect(paths({ replaceFrom: spares(11), replaceAfterMinutes: 0, replaceAtMostEveryHours: 0.5 })).toEqual([
    'policy.replaceFrom',
    'policy.replaceAfterMinutes',
    'policy.replaceAtMostEveryHours',
  ]);
  expect(paths({ replaceFrom: [{ ip: 'x', labels: { 'a b': '' } }] })).toEqual([
    'policy.replaceFrom.0.ip',
    'policy.replaceFrom.0.labels.a b',
  ]);
});
