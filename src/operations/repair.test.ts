import { expect, it } from 'vitest';
import { stateOf } from '#api/host-record.ts';
import { infer } from './infer.ts';
import { planFor } from './plan-for.ts';
import { repair } from './repair.ts';
import { externalEtcd, ip, plan, records, spec } from './testing/planned.fixture.ts';

const three = spec([1, 2, 3], [7, 8]);

it('restores every host, control planes one at a time and without interruption', () => {
  const { does, steps, at, refused } = plan(repair, three, three);
  expect(does).toEqual(Object.fromEntries([1, 2, 3, 7, 8].map((last) => [ip(last), 'change'])));
  expect(steps).toEqual([
    'Take hosts',
    'Check the version',
    'Read keys that control planes have lost',
    'Bring back lost keys',
    'Find etcd members without data',
    'Replace etcd members without data',
    'Restore control planes that do not answer',
    'Restore control planes',
    'Restore workers',
    'Point hosts at the API servers',
    'Find expired kubelets',
    'Issue certificates for kubelets',
    'Renew kubelets',
    'Find missing nodes',
    'Register missing nodes',
    'Wait for missing nodes',
    'Compare hosts',
  ]);
  expect(at('Restore control planes')).toEqual([1, 2, 3]);
  expect(at('Restore workers')).toEqual([7, 8]);
  expect(refused).toEqual([]);
  for (const name of steps.slice(5, 8))
    expect(repair.planning.steps.find((step) => step.name === name)).toMatchObject({
      pace: 'one',
      cut: 'never',
    });
});

it('restores external etcd members first, one at a time; each host may be away', () => {
  const of = externalEtcd([1], [4, 5, 6], [4, 7]);
  const { hosts, steps } = planFor(repair, {
    spec: of,
    applied: of,
    hosts: records(of),
    offer: { versions: ['v1.34.4'] },
  });
  expect(hosts.map(({ member: host, action, mayBeAway }) => [host.ip, action, mayBeAway])).toEqual(
    [1, 4, 7, 5, 6].map((last) => [ip(last), 'change', true]),
  );
  const at = (name: string) => steps.find((step) => step.name === name)?.hosts;
  const first = ['Restore etcd members that do not run', 'Restore etcd members'];
  expect(steps.slice(5, 7)).toMatchObject(first.map((name) => ({ name, hosts: [4, 5, 6].map(ip) })));
  // Host 4, an external etcd member, is also a worker; its other parts follow once API servers answer.
  expect(at('Restore workers')).toEqual([4, 7].map(ip));
  expect(at('Compare hosts')).toEqual([1, 4, 7, 5, 6].map(ip));
  for (const one of first)
    expect(repair.planning.steps.find(({ name }) => name === one)).toMatchObject({
      pace: 'one',
      cut: 'never',
    });
});

it('skips a Lost host', () => {
  const hosts = records(three).map((record) =>
    record.spec.ip === ip(8) ? { ...record, status: { state: 'Lost' as const } } : record,
  );
  const made = planFor(repair, { spec: three, applied: three, hosts, offer: { versions: ['v1.34.4'] } });
  expect(made.hosts.map(({ member: host }) => host.ip)).not.toContain(ip(8));
  expect(hosts.map(stateOf)).toContain('Lost');
});

it('refuses edits of the spec, and is never inferred', () => {
  expect(plan(repair, three, spec([1, 2, 3], [7, 8, 9])).refused).toEqual([
    'spec.cluster.nodeList: host 10.0.0.9 is added; ask for "scaling-up" to add it, or take it out of the list',
  ]);
  expect(infer(three, three)).toEqual({ kind: 'nothing' });
  expect(repair.request.edit({ spec: three, applied: three }, {})).toEqual({ change: {}, problems: [] });
});
