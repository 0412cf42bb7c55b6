import { describe, expect, it } from 'vitest';
import { type Plan, planFor, type RestoreRequest } from './plan-for.ts';
import { planHash } from './plan-hash.ts';
import { restore } from './restore.ts';
import { snapshot } from './snapshot.ts';
import { externalEtcd, ip, records, spec } from './testing/planned.fixture.ts';

const offer = { versions: ['v1.34.4'] };
const present = spec([1, 2, 3], [4, 5]);
const NAME = '20261129t020000z-7';
const stored = [{ name: NAME, createdAt: '2026-11-29T02:00:00Z', size: 1 }];
const asked = { snapshot: NAME, confirmed: '2026-11-29T02:00:00Z', stored };

const planned = (request: RestoreRequest | undefined, of = present): Plan =>
  planFor(restore, { spec: of, applied: of, hosts: records(of), offer, restore: request });
const refused = (request: RestoreRequest | undefined, of = present) =>
  planned(request, of).refusals.map(({ field, reason }) => `${field} ${reason}`);

describe('a restore', () => {
  it('makes control planes anew, whatever machine they are, and leaves workers as they are', () => {
    const { hosts, refusals, warnings, snapshot: name } = planned(asked);
    expect(refusals).toEqual([]);
    expect(hosts.map(({ member, action }) => [member.ip, action])).toEqual([
      ...[1, 2, 3].map((last) => [ip(last), 'join']),
      ...[4, 5].map((last) => [ip(last), 'stay']),
    ]);
    expect(hosts.filter(({ action, machineId }) => action === 'join' && machineId !== undefined)).toEqual([]);
    expect(name).toBe(NAME);
    expect(warnings.map(({ reason }) => reason).join()).toContain('since 2026-11-29T02:00:00.000Z is lost');
  });

  it('has another plan hash for another snapshot', () => {
    const other = { ...asked, snapshot: '20261128t020000z-6', confirmed: '2026-11-28T02:00:00Z', stored: [] };
    expect(planHash('restore', planned(asked), 7)).not.toBe(planHash('restore', planned(other), 7));
  });

  it('may confirm an earlier time, and may name a snapshot that no status lists', () => {
    expect(refused({ ...asked, confirmed: '2026-11-01T00:00:00+01:00', stored: undefined })).toEqual([]);
  });

  it.each<[string, RestoreRequest | undefined, string]>([
    ['no snapshot', { stored }, `is required: name the snapshot to restore; the newest are ${NAME}`],
    ['no request', undefined, 'is required: name the snapshot to restore'],
    ['a wrong name', { ...asked, snapshot: '../../etc' }, 'is not a name of a snapshot'],
    ['an unknown one', { ...asked, snapshot: '20261128t020000z-6' }, 'is not in the storage; the newest are'],
    ['no confirmation', { ...asked, confirmed: undefined }, 'confirm that with 2026-11-29T02:00:00.000Z'],
    ['a later time', { ...asked, confirmed: '2026-11-29T03:00:00Z' }, 'is later than the snapshot'],
    ['no time', { ...asked, confirmed: 'yes' }, 'is not a time; confirm that with'],
  ])('is refused with %s', (_what, request, reason) => {
    expect(refused(request).join()).toContain(reason);
  });

  it('makes external members anew, all together and before the control plane', () => {
    const { hosts, refusals, steps } = planned(asked, externalEtcd([1], [6, 7, 8], [4]));
    expect(refusals).toEqual([]);
    expect(hosts.map(({ member, action }) => [member.ip, action])).toEqual([
      ...[1, 4, 6, 7, 8].map((last) => [ip(last), last === 4 ? 'stay' : 'join']),
    ]);
    expect(hosts.every(({ action, machineId }) => action === 'stay' || machineId === undefined)).toBe(true);
    const of = new Map(steps.map(({ name, hosts: at, pace }) => [name, { at, pace }]));
    const members = { at: [6, 7, 8].map(ip), pace: 'all' };
    expect(of.get('Send the snapshot')).toEqual(members);
    expect(of.get('Stop control planes')?.at).toEqual([1, 6, 7, 8].map(ip));
    expect(of.get('Restore etcd')).toEqual(members);
    expect(of.get('Start etcd')).toEqual(members);
    expect(of.get('Start the control plane')?.at).toEqual([ip(1)]);
  });

  it('moves to other control planes: stops those that leave, points workers at the new ones', () => {
    const to = spec([1, 6, 7], [4, 5]);
    const { hosts, refusals, steps } = planFor(restore, {
      spec: to,
      applied: present,
      hosts: records(present),
      offer,
      restore: asked,
    });
    expect(refusals.map(({ reason }) => reason)).toEqual([]);
    expect(Object.fromEntries(hosts.map(({ member, action }) => [member.ip, action]))).toEqual({
      ...{ [ip(1)]: 'join', [ip(6)]: 'join', [ip(7)]: 'join', [ip(4)]: 'change', [ip(5)]: 'change' },
      ...{ [ip(2)]: 'leave', [ip(3)]: 'leave' },
    });
    const names = steps.map(({ name }) => name);
    expect(names.indexOf('Stop control planes that leave')).toBeLessThan(names.indexOf('Restore etcd'));
    expect(names.indexOf('Reset hosts')).toBeGreaterThan(names.indexOf('Wait for the cluster'));
    const at = (name: string) => steps.find((step) => step.name === name)?.hosts.toSorted();
    expect(at('Point hosts at the API servers')).toEqual([4, 5].map(ip));
    expect(at('Reset hosts')).toEqual([2, 3].map(ip));
  });

  it('says which hosts are reset, and moves no etcd', () => {
    const onto = (to: ReturnType<typeof spec>) =>
      planFor(restore, { spec: to, applied: present, hosts: records(present), offer, restore: asked });
    expect(
      onto(spec([1], [4, 5]))
        .warnings.map(({ reason }) => reason)
        .join(),
    ).toContain(`host ${ip(2)} is stopped, and reset with its data of before`);
    const moved = onto(externalEtcd([6], [7, 8, 9], [4, 5]));
    expect(moved.refusals.map(({ reason }) => reason).join()).toContain(
      'moves etcd, which a restore does not',
    );
  });

  it('names the hosts over REST if the spec has other ones', () => {
    const edit = (body: object, to = spec([1], [4, 5])) =>
      restore.request.edit({ spec: to, applied: present }, { snapshot: NAME, ...body });
    expect(
      edit({})
        .problems.map(({ reason }) => reason)
        .join(),
    ).toContain('name the whole list to restore onto');
    expect(edit({ masterList: [{ ip: ip(1) }] }).problems).toEqual([]);
    expect(edit({}, present).problems).toEqual([]);
  });

  it('changes no worker', () => {
    const to = spec([1, 2, 3], [4]);
    const { refusals } = planFor(restore, {
      spec: to,
      applied: present,
      hosts: records(present),
      offer,
      restore: asked,
    });
    expect(refusals.map(({ reason }) => reason).join()).toContain('ask for "scaling-down" to remove it');
  });

  it.each([
    ['worker', externalEtcd([1], [4, 7, 8], [4])],
    ['control plane', externalEtcd([1], [1, 7, 8], [4])],
  ])('is refused if a host of an external member is a %s too', (what, of) => {
    expect(refused(asked, of).join()).toContain(`which is a ${what} too; a restore of such a member`);
  });
});

describe('a snapshot', () => {
  it('is saved while an edit waits for its own operation, and applies nothing of it', () => {
    const cluster = { ...present.cluster, nodeList: [] };
    const { refusals, hosts, target } = planFor(snapshot, {
      spec: { ...present, cluster, etcdSnapshots: { keep: { last: 2 } } },
      applied: present,
      hosts: records(present),
      offer,
    });
    expect(refusals).toEqual([]);
    expect(hosts.every(({ action }) => action === 'stay')).toBe(true);
    expect(target.cluster.nodeList).toEqual(present.cluster.nodeList);
    expect(target.etcdSnapshots).toEqual({ keep: { last: 2 } });
  });

  it('is refused before the cluster is created', () => {
    const { refusals } = planFor(snapshot, { spec: present, applied: undefined, hosts: [], offer });
    expect(refusals.map(({ reason }) => reason).join()).toContain('was not created yet');
  });
});
