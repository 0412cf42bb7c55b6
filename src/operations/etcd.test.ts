import { describe, expect, it } from 'vitest';
import { create } from './create.ts';
import { infer } from './infer.ts';
import { moveEtcd } from './move-etcd.ts';
import type { Operation } from './operation.ts';
import { planFor } from './plan-for.ts';
import { replace } from './replace.ts';
import { scaleDown } from './scale-down.ts';
import { scaleUp } from './scale-up.ts';
import { externalEtcd, ip, plan, records, spec } from './testing/planned.fixture.ts';
import { validateSpec } from './validate.ts';

describe('external etcd', () => {
  it('starts before the control plane, with certificates', () => {
    const offer = { versions: ['v1.34.4'] };
    const stepsOf = (wanted: ReturnType<typeof spec>) =>
      planFor(create, { spec: wanted, applied: undefined, hosts: [], offer }).steps.map(({ name }) => name);
    const externalOnly = ['Issue certificates for etcd', 'Start etcd', 'Start the control plane'];
    expect(stepsOf(externalEtcd([1], [4, 5, 6]))).toEqual(expect.arrayContaining(externalOnly));
    expect(stepsOf(spec([1], [])).filter((name) => externalOnly.includes(name))).toEqual([]);
  });

  it('gets new members before API servers use them', () => {
    const { does, steps, at } = plan(
      scaleUp,
      externalEtcd([1, 2], [4], [7]),
      externalEtcd([1, 2], [4, 5, 6], [7]),
    );
    expect(does).toEqual({
      ...{ [ip(1)]: 'change', [ip(2)]: 'change', [ip(4)]: 'stay' },
      ...{ [ip(5)]: 'join', [ip(6)]: 'join' },
    });
    expect(steps).toEqual([
      'Take hosts',
      'Prepare hosts',
      'Check etcd',
      'Issue certificates for etcd',
      'Add etcd members',
      'Point API servers at etcd',
      'Point hosts at the API servers',
      'Admit hosts',
      'Join hosts',
      'Wait for the cluster',
    ]);
    expect(at('Add etcd members')).toEqual([5, 6]);
    expect(at('Point API servers at etcd')).toEqual([1, 2]);
  });

  it('is set again on the API servers when a worker joins', () => {
    const { at, steps } = plan(scaleUp, externalEtcd([1, 2], [4], [7]), externalEtcd([1, 2], [4], [7, 8]));
    expect(at('Point API servers at etcd')).toEqual([1, 2]);
    expect(steps).not.toContain('Check etcd');
    expect(plan(scaleUp, spec([1], [7]), spec([1], [7, 8])).steps).not.toContain('Point API servers at etcd');
  });

  it('loses members after API servers stop using them', () => {
    const { steps, at } = plan(scaleDown, externalEtcd([1], [4, 5, 6]), externalEtcd([1], [5]));
    const order = ['Check etcd', 'Point API servers at etcd', 'Remove etcd members', 'Reset hosts'];
    expect(steps.filter((name) => order.includes(name))).toEqual(order);
    expect(at('Remove etcd members')).toEqual([1, 5]);
    expect(at('Reset hosts')).toEqual([4, 6]);
  });

  it('has the same plan for any order of Host records', () => {
    const [applied, wanted] = [externalEtcd([1], [4, 5, 6]), externalEtcd([1], [5])];
    const of = (hosts: ReturnType<typeof records>) =>
      planFor(scaleDown, { spec: wanted, applied, hosts, offer: { versions: ['v1.34.4'] } });
    expect(of(records(applied).reverse())).toEqual(of(records(applied)));
  });

  it('is not checked when a worker or a control plane joins', () => {
    const etcd = { [ip(4)]: 'stay', [ip(5)]: 'stay', [ip(6)]: 'stay' };
    const more = plan(scaleUp, externalEtcd([1], [4, 5, 6]), externalEtcd([1], [4, 5, 6], [7]));
    expect(more.does).toEqual({ [ip(1)]: 'stay', ...etcd, [ip(7)]: 'join' });
    expect(more.steps).not.toContain('Check etcd');
    const { does, steps } = plan(scaleUp, externalEtcd([1], [4, 5, 6]), externalEtcd([1, 2], [4, 5, 6]));
    expect(does).toEqual({ [ip(1)]: 'change', [ip(2)]: 'join', ...etcd });
    expect(steps).not.toContain('Check etcd');
  });

  it('is checked when a control plane leaves, because it may still have a member', () => {
    const { steps, at } = plan(scaleDown, externalEtcd([1, 2], [4, 5, 6]), externalEtcd([1], [4, 5, 6]));
    expect(steps).toEqual([
      'Take hosts',
      'Check etcd',
      'Point API servers at etcd',
      'Point hosts at the API servers',
      'Drain and remove nodes',
      'Remove etcd members',
      'Reset hosts',
      'Forget removed nodes',
    ]);
    expect(at('Remove etcd members')).toEqual([1, 4, 5, 6]);
  });

  it('replaces one member; a dead one leaves before its successor joins', () => {
    const { steps, does } = plan(replace, externalEtcd([1], [4, 5, 6]), externalEtcd([1], [7, 5, 6]));
    const order = ['Remove dead etcd members', 'Add etcd members', 'Point API servers at etcd'];
    expect(steps.filter((name) => [...order, 'Remove etcd members'].includes(name))).toEqual([
      ...order,
      'Remove etcd members',
    ]);
    expect([does[ip(4)], does[ip(7)]]).toEqual(['leave', 'join']);
    expect(
      plan(replace, externalEtcd([1], [4, 5, 6]), externalEtcd([1], [7, 8, 6])).refused.join(),
    ).toContain('replaces 2 etcd members at once');
    expect(plan(replace, externalEtcd([1], [4]), externalEtcd([1], [7])).refused.join()).toContain(
      'would leave none of the present members of etcd',
    );
  });
});

describe('a retry of a creation', () => {
  const tried = (before: ReturnType<typeof spec>, now: ReturnType<typeof spec>) => {
    const offer = { versions: ['v1.34.4'] };
    const situation = { spec: now, applied: undefined, hosts: records(before), offer };
    return planFor(create, situation).refusals.map(({ field, value }) => `${field}: ${value}`);
  };

  it('must keep earlier etcd members if one of them stays', () => {
    expect(tried(spec([1, 2, 3], []), spec([1, 4, 5], []))).toEqual([
      `spec.cluster.masterList: ${ip(2)}`,
      `spec.cluster.masterList: ${ip(3)}`,
    ]);
    expect(tried(externalEtcd([1], [4, 5, 6]), externalEtcd([1], [4, 5, 7]))).toEqual([
      `spec.cluster.etcdList: ${ip(6)}`,
    ]);
  });

  it('must keep etcd members that a remaining control plane uses', () => {
    expect(tried(externalEtcd([1], [4]), externalEtcd([1], [7]))).toEqual([
      `spec.cluster.etcdList: ${ip(4)}`,
    ]);
    expect(tried(externalEtcd([1], [4]), externalEtcd([2], [7]))).toEqual([]);
  });

  it('may use entirely different hosts', () => {
    expect(tried(spec([1, 2, 3], []), spec([4], []))).toEqual([]);
  });
});

describe('a move of etcd', () => {
  it('needs confirmation', () => {
    expect(infer(spec([1], []), externalEtcd([1], [4, 5, 6]))).toMatchObject({
      kind: 'needs-confirmation',
      message: expect.stringContaining('"moving-etcd"'),
    });
  });

  it('adds members, points the API servers at them, then removes the old members', () => {
    const { does, steps, at, refused } = plan(
      moveEtcd,
      spec([1, 2, 3], [9]),
      externalEtcd([1, 2, 3], [4, 5, 6], [9]),
    );
    expect(refused).toEqual([]);
    expect(does).toEqual({
      ...{ [ip(1)]: 'change', [ip(2)]: 'change', [ip(3)]: 'change' },
      ...{ [ip(4)]: 'join', [ip(5)]: 'join', [ip(6)]: 'join' },
    });
    expect(steps).toEqual([
      'Take hosts',
      'Prepare hosts',
      'Check etcd',
      'Issue certificates for etcd',
      'Add etcd members',
      'Point API servers at etcd',
      'Remove etcd members',
      'Stop etcd on control planes',
      'Wait for the cluster',
    ]);
    expect(at('Add etcd members')).toEqual([4, 5, 6]);
    expect(at('Stop etcd on control planes')).toEqual([1, 2, 3]);
  });

  it('goes back in the same way, and resets the external hosts', () => {
    const { does, at, steps } = plan(moveEtcd, externalEtcd([1], [4, 5, 6]), spec([1], []));
    expect(does).toEqual({ [ip(1)]: 'change', [ip(4)]: 'leave', [ip(5)]: 'leave', [ip(6)]: 'leave' });
    expect(at('Add etcd members')).toEqual([1]);
    expect(steps).not.toContain('Stop etcd on control planes');
    expect(steps.at(-1)).toBe('Reset hosts');
  });

  it.each([
    ['nothing moves', externalEtcd([1], [4]), externalEtcd([1], [4, 5, 6]), 'leaves etcd where it is'],
    ['a worker is to be a member', spec([1], [7]), externalEtcd([1], [7], [7]), 'changes its name or duties'],
    ['a worker comes as well', spec([1], []), externalEtcd([1], [4], [7]), 'ask for "scaling-up"'],
  ])('is refused if %s', (_why, from, to, reason) => {
    expect(plan(moveEtcd, from, to).refused.join()).toContain(reason);
  });

  describe('given up halfway', () => {
    const left = (
      of: ReturnType<typeof spec>,
      states: Readonly<Record<number, 'Held' | 'Joined' | 'Leaving'>>,
    ) =>
      records(of).map((record) => {
        const state = states[Number(record.spec.ip.split('.').at(-1))];
        return state ? { ...record, status: { state, touched: true } } : record;
      });
    const refused = (operation: Operation, to: ReturnType<typeof spec>, hosts: ReturnType<typeof left>) =>
      planFor(operation, { spec: to, applied: to, hosts, offer: { versions: ['v1.34.4'] } });
    const stacked = spec([1, 2, 3], []);
    const both = {
      ...stacked,
      cluster: { ...stacked.cluster, etcdList: [1, 2, 3, 4, 5, 6].map((last) => ({ ip: ip(last) })) },
    };

    it.each(['Held', 'Joined', 'Leaving'] as const)(
      'can be reverted only by another move: new hosts are %s',
      (state) => {
        const hosts = left(both, { 4: state, 5: state, 6: state });
        const back = refused(moveEtcd, stacked, hosts);
        expect(back.refusals).toEqual([]);
        const does = back.hosts.map(({ member: host, action }) => `${host.ip.split('.').at(-1)} ${action}`);
        expect(does).toEqual(['1 change', '2 change', '3 change', '4 leave', '5 leave', '6 leave']);
        const order = back.steps.map(({ name }) => name);
        expect(order.indexOf('Point API servers at etcd')).toBeLessThan(order.indexOf('Remove etcd members'));
        expect(refused(scaleDown, stacked, hosts).refusals[0]?.reason).toContain('given up halfway');
        for (const operation of [scaleUp, replace])
          expect(refused(operation, stacked, hosts).hosts.map(({ member: host }) => host.ip)).not.toContain(
            ip(4),
          );
      },
    );

    it('needs another move if the new hosts have joined', () => {
      expect(infer(both, stacked)).toMatchObject({
        kind: 'needs-confirmation',
        message: expect.stringContaining('"moving-etcd"'),
      });
    });

    it('may be requested again to keep hosts that were leaving', () => {
      const here = externalEtcd([1, 2, 3], [4]);
      const hosts = left(here, { 4: 'Leaving' });
      expect(refused(moveEtcd, here, hosts).refusals).toEqual([]);
      expect(refused(moveEtcd, here, left(here, {})).refusals).not.toEqual([]);
      expect(refused(scaleDown, here, hosts).refusals[0]?.reason).toContain('given up halfway');
    });

    it.each(['Leaving', 'Held'] as const)('is refused while a control plane or a worker is %s', (state) => {
      const before = spec([1, 2, 3], [9]);
      const to = externalEtcd([1, 2, 3], [4], [9]);
      const of = (host: number) =>
        planFor(moveEtcd, {
          spec: to,
          applied: before,
          hosts: left(before, { [host]: state }),
          offer: { versions: ['v1.34.4'] },
        });
      expect(of(2).refusals).toMatchObject([{ field: 'spec.cluster.masterList', value: ip(2) }]);
      expect(of(9).refusals).toMatchObject([{ field: 'spec.cluster.nodeList', value: ip(9) }]);
    });
  });

  it('is requested with a host list; an empty list moves etcd back', () => {
    const present = { spec: spec([1], []), applied: spec([1], []) };
    expect(moveEtcd.request.edit(present, { etcdList: [] })).toEqual({
      change: { etcdList: [] },
      problems: [],
    });
    expect(moveEtcd.request.edit(present, {}).problems).toMatchObject([{ field: 'spec.cluster.etcdList' }]);
    expect(moveEtcd.request.edit(present, { retry: true }).problems).toEqual([]);
  });
});

describe('a spec with external etcd', () => {
  const problemsOf = (of: ReturnType<typeof spec>) =>
    validateSpec(of, { versions: ['v1.34.4'] }).map(({ field, reason }) => `${field}: ${reason}`);

  it('may have two API servers', () => {
    expect(problemsOf(externalEtcd([1, 2], [4, 5, 6]))).toEqual([]);
  });

  it.each([
    [
      'two members',
      externalEtcd([1], [4, 5]),
      'etcdList: names 2 hosts of etcd; 2 members bear the loss of 0',
    ],
    [
      'some of the control planes',
      externalEtcd([1, 2, 3], [1, 4, 5]),
      'etcdList: names 10.0.0.1, which masterList names',
    ],
    ['a part of the control planes', externalEtcd([1, 2, 3], [1]), 'the same hosts as masterList, or none'],
  ])('is refused with %s', (_what, of, problem) => {
    expect(problemsOf(of).join()).toContain(problem);
  });

  it('may not set labels on a host without a node', () => {
    const marked = externalEtcd([1], [4]);
    marked.cluster.etcdList = [{ ip: ip(4), labels: { 'example.com/rack': 'r1' } }];
    expect(problemsOf(marked)).toEqual([expect.stringContaining('no node stands for a host of etcd alone')]);
  });
});
