import { describe, expect, it } from 'vitest';
import type { HostRecord } from '#api/host-record.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { infer } from './infer.ts';
import { planFor } from './plan-for.ts';
import { replace } from './replace.ts';
import { scaleDown } from './scale-down.ts';
import { scaleUp } from './scale-up.ts';
import { externalEtcd, ip, plan, records, spec } from './testing/planned.fixture.ts';

describe('control planes', () => {
  it('change the endpoints of every remaining host when they join, after an etcd check', () => {
    const { does, steps, refused } = plan(scaleUp, spec([1], [7]), spec([1, 2, 3], [7]));
    expect(does).toEqual({ [ip(1)]: 'change', [ip(2)]: 'join', [ip(3)]: 'join', [ip(7)]: 'change' });
    expect(steps).toEqual([
      'Take hosts',
      'Prepare hosts',
      'Check etcd',
      'Point hosts at the API servers',
      'Admit hosts',
      'Join hosts',
      'Wait for the cluster',
    ]);
    expect(refused).toEqual([]);
  });

  it.each([
    ['scaled up', scaleUp, spec([1], [7]), spec([1, 2, 3], [7])],
    ['scaled down', scaleDown, spec([1, 2, 3], [7]), spec([1], [7])],
    ['replaced', replace, spec([1, 2, 3], [7]), spec([1, 2, 4], [7])],
  ])('are %s although a worker is away; hosts with etcd must answer', (_, operation, from, to) => {
    const situation = { spec: to, applied: from, hosts: records(from), offer: { versions: ['v1.34.4'] } };
    const changing = planFor(operation, situation).hosts.filter(({ action }) => action === 'change');
    expect(changing.filter(({ mayBeAway }) => mayBeAway).map(({ member: host }) => host.ip)).toEqual([ip(7)]);
    expect(changing.length).toBeGreaterThan(1);
  });

  it('with external etcd are replaced although another is away, unless etcd changes', () => {
    const away = (from: Spec, to: Spec) =>
      planFor(replace, { spec: to, applied: from, hosts: records(from), offer: { versions: ['v1.34.4'] } })
        .hosts.filter(({ mayBeAway }) => mayBeAway)
        .map(({ member: host }) => host.ip);
    const from = externalEtcd([1, 2, 3], [4, 5, 6], [7]);
    expect(away(from, externalEtcd([1, 2, 8], [4, 5, 6], [7]))).toEqual([ip(1), ip(2), ip(7)]);
    expect(away(from, externalEtcd([1, 2, 3], [4, 5, 8], [7]))).toEqual([]);
  });

  it('behind an external load balancer join without a change of the others', () => {
    const site = { externalLoadBalancer: 'api.example.com' };
    const { does } = plan(scaleUp, spec([1], [7], site), spec([1, 2, 3], [7], site));
    expect(does).toEqual({ [ip(1)]: 'stay', [ip(2)]: 'join', [ip(3)]: 'join' });
  });

  it('need no work if only a worker joins or leaves', () => {
    const three = spec([1, 2, 3], [7, 8]);
    expect(plan(scaleUp, spec([1, 2, 3], [7]), three).does).toEqual({
      ...{ [ip(1)]: 'stay', [ip(2)]: 'stay', [ip(3)]: 'stay' },
      [ip(8)]: 'join',
    });
    expect(plan(scaleDown, three, spec([1, 2, 3], [7])).steps).toEqual([
      'Take hosts',
      'Drain and remove nodes',
      'Reset hosts',
      'Forget removed nodes',
    ]);
  });

  it('give their endpoints again to a host that the last run did not reach', () => {
    const from = spec([1, 2, 3], [7]);
    const hosts = records(from).map((record) =>
      record.spec.ip === ip(7)
        ? {
            ...record,
            status: {
              ...record.status,
              lastRun: { operation: 'scale-up', sequence: 2, attempt: 1, did: [], ok: false, at: '' },
            },
          }
        : record,
    );
    const situation = {
      spec: spec([1, 2, 3], [7, 8]),
      applied: from,
      hosts,
      offer: { versions: ['v1.34.4'] },
    };
    const { hosts: does } = planFor(scaleUp, situation);
    expect(does.find(({ member: host }) => host.ip === ip(7))?.action).toBe('change');
  });

  it('leave the endpoints first, then etcd, and are reset last', () => {
    const { does, steps, refused } = plan(scaleDown, spec([1, 2, 3], [7]), spec([3], [7]));
    expect(does).toEqual({ [ip(1)]: 'leave', [ip(2)]: 'leave', [ip(3)]: 'change', [ip(7)]: 'change' });
    expect(steps).toEqual([
      'Take hosts',
      'Check etcd',
      'Point hosts at the API servers',
      'Drain and remove nodes',
      'Remove etcd members',
      'Reset hosts',
      'Forget removed nodes',
    ]);
    expect(refused).toEqual([]);
  });

  it('are removed by a scale-down if an interrupted attempt touched them', () => {
    const of = spec([1], [7]);
    const [left] = records(spec([2], []));
    if (!left) throw new Error('no record');
    const held: HostRecord = { ...left, status: { state: 'Held', touched: true } };
    const situation = { applied: of, hosts: [...records(of), held], offer: { versions: ['v1.34.4'] } };
    const up = planFor(scaleUp, { ...situation, spec: spec([1], [7, 8]) });
    expect(up.hosts.map(({ member: host }) => host.ip)).not.toContain(ip(2));
    const down = planFor(scaleDown, { ...situation, spec: of });
    expect(down.hosts.find(({ member: host }) => host.ip === ip(2))?.action).toBe('leave');
    expect(down.steps.map(({ name }) => name)).toContain('Remove etcd members');
  });

  it('may not be two', () => {
    expect(plan(scaleDown, spec([1, 2, 3], []), spec([1, 2], [])).refused).toEqual([
      expect.stringContaining('2 members bear the loss of 0 like 1 do'),
    ]);
  });
});

describe('a replacement host', () => {
  it('needs confirmation as one operation', () => {
    expect(infer(spec([1, 2, 3], [7]), spec([4, 2, 3], [7]))).toMatchObject({
      kind: 'needs-confirmation',
      message: expect.stringContaining('"replacing"'),
    });
  });

  it('joins after dead etcd members leave and before living ones leave', () => {
    const { does, steps, refused } = plan(replace, spec([1, 2, 3], [7]), spec([4, 2, 3], [7]));
    expect(does).toEqual({
      ...{ [ip(1)]: 'leave', [ip(2)]: 'change', [ip(3)]: 'change', [ip(7)]: 'change' },
      [ip(4)]: 'join',
    });
    const [dead, join, living] = ['Remove dead etcd members', 'Join hosts', 'Remove etcd members'];
    expect(steps.filter((name) => [dead, join, living].includes(name))).toEqual([dead, join, living]);
    expect(refused).toEqual([]);
  });

  it('may be a worker, and then changes no other host', () => {
    const { does } = plan(replace, spec([1], [7, 8]), spec([1], [7, 9]));
    expect(does).toEqual({ [ip(1)]: 'stay', [ip(8)]: 'leave', [ip(9)]: 'join' });
  });

  it.each([
    ['none comes', spec([1, 2, 3], [7]), spec([1, 2, 3], []), 'takes out 10.0.0.7 and brings in none'],
    ['it has other duties', spec([1, 2, 3], [7]), spec([1, 2, 4], [3]), 'changes its name or duties'],
    [
      'none of the control planes stays',
      spec([1], [7]),
      spec([2], [7]),
      'none of the present control planes',
    ],
    [
      'two control planes go at once',
      spec([1, 2, 3], []),
      spec([4, 5, 3], []),
      'replaces 2 control planes at once',
    ],
  ])('is refused if %s', (_why, from, to, reason) => {
    expect(plan(replace, from, to).refused.join()).toContain(reason);
  });

  it('is requested by two addresses, and replaces the host in every list', () => {
    const present = { spec: spec([1], [1, 7]), applied: spec([1], [1, 7]) };
    expect(replace.request.edit(present, { from: ip(1), to: { ip: ip(2) } })).toEqual({
      change: { masterList: [{ ip: ip(2) }], nodeList: [{ ip: ip(2) }, { ip: ip(7) }] },
      problems: [],
    });
    const problemsOf = (body: object) => replace.request.edit(present, body).problems;
    expect(problemsOf({ from: ip(9), to: { ip: ip(2) } })).toMatchObject([{ field: 'from' }]);
    expect(problemsOf({ from: ip(1), to: { ip: ip(7) } })).toMatchObject([{ field: 'to.ip' }]);
    expect(problemsOf({})).toMatchObject([{ field: 'from' }, { field: 'to' }]);
    expect(problemsOf({ retry: true })).toEqual([]);
  });
});
