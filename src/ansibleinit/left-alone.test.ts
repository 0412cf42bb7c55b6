import { describe, expect, it } from 'vitest';
import type { PrecheckProblem } from '#precheck/run.ts';
import { said } from '#precheck/said.ts';
import type { Action, PlannedHost } from '#protocol/run-spec.ts';
import { isGrave, leftAlone } from './left-alone.ts';

const OURS = '@owner {"clusterId":"c1","epoch":{"sequence":1,"attempt":1},"podUid":"p","released":false}';
const host = (ip: string, action: Action, ...duties: PlannedHost['member']['duties']): PlannedHost => ({
  member: { ip, name: ip, duties },
  action,
});
const master = (ip: string, action: Action) => host(ip, action, 'control-plane', 'etcd');

/** Returns the hosts that are left alone, given the hosts that are away and the SSH error of each. */
function left(hosts: PlannedHost[], away: Record<string, PrecheckProblem['check']>): string[] {
  const runSpec = { hosts, cluster: { id: 'c1', namespace: 'a', name: 'demo', region: 'default' } };
  const answered = hosts.filter(({ member: host }) => !(host.ip in away));
  const problems = Object.entries(away).map(
    ([ip, check]): PrecheckProblem => ({ ip, check, severity: 'error', message: 'no' }),
  );
  return [
    ...leftAlone(runSpec, {
      said: new Map(answered.map(({ member: host }) => [host.ip, said(OURS)])),
      problems,
    }),
  ];
}

describe('a host that does not answer', () => {
  it.each([
    ['it leaves', [master('m1', 'stay'), host('w1', 'leave', 'worker')], 'w1'],
    [
      'it is a control plane that only stays, and another one answers',
      [master('m1', 'stay'), master('m2', 'stay')],
      'm2',
    ],
    ['it is a member of etcd that only stays', [master('m1', 'change'), host('e1', 'stay', 'etcd')], 'e1'],
    [
      'something of it would change, and it may be away',
      [master('m1', 'change'), { ...master('m2', 'change'), mayBeAway: true } satisfies PlannedHost],
      'm2',
    ],
    [
      'it is a worker, and all control planes are made anew',
      [master('m1', 'join'), master('m2', 'join'), host('w1', 'stay', 'worker')],
      'w1',
    ],
    [
      'it is a worker that would be pointed at other control planes, and all of these are made anew',
      [
        master('m1', 'join'),
        master('m2', 'leave'),
        { ...host('w1', 'change', 'worker'), mayBeAway: true } satisfies PlannedHost,
      ],
      'w1',
    ],
  ])('is skipped if %s', (_why, hosts, ip) => {
    expect(left(hosts, { [ip]: 'Unreachable' })).toEqual([ip]);
  });

  it.each([
    ['it is a control plane that is made anew', [master('m1', 'join'), master('m2', 'join')], 'm2'],
    ['it joins', [master('m1', 'stay'), host('w1', 'join', 'worker')], 'w1'],
    ['something of it changes', [master('m1', 'stay'), master('m2', 'change')], 'm2'],
    ['it is the only control plane', [master('m1', 'stay'), host('w1', 'join', 'worker')], 'm1'],
    [
      'it may be away, and is the only control plane',
      [{ ...master('m1', 'change'), mayBeAway: true } satisfies PlannedHost, host('w1', 'change', 'worker')],
      'm1',
    ],
  ])('is not skipped if %s', (_why, hosts, ip) => {
    expect(left(hosts, { [ip]: 'Unreachable' })).toEqual([]);
  });

  it('is not skipped if its host key changed', () => {
    expect(left([master('m1', 'stay'), master('m2', 'stay')], { m2: 'HostKeyChanged' })).toEqual([]);
  });
});

describe('a problem of a host ends a run', () => {
  const [stays, leaves] = [master('m1', 'stay'), host('w1', 'leave', 'worker')];
  const runSpec = (hosts: PlannedHost[]) => ({
    hosts,
    cluster: { id: 'c1', namespace: 'a', name: 'demo', region: 'default' },
  });
  it.each([
    ['where it is needed', [stays, leaves], 'm1', 'Unreachable', [], true],
    ['not where nobody needs it', [stays, leaves], 'm1', 'Unreachable', ['m1'], false],
    ['not where it leaves', [stays, leaves], 'w1', 'Unreachable', [], false],
    ['where it leaves and shows another key', [stays, leaves], 'w1', 'HostKeyChanged', ['w1'], true],
    ['not in a deletion, whatever key it shows', [leaves], 'w1', 'HostKeyChanged', ['w1'], false],
  ] as const)('%s', (_why, hosts, ip, check, untouched, expected) => {
    expect(isGrave({ ip, check }, runSpec([...hosts]), new Set(untouched))).toBe(expected);
  });

  it('in a restore, if it leaves and runs, but cannot be stopped', () => {
    const restoring = {
      ...runSpec([stays, leaves]),
      snapshot: { task: 'load', name: '20261129t020000z-7' },
    } as const;
    const isGraveAs = (check: PrecheckProblem['check']) =>
      isGrave({ ip: 'w1', check }, restoring, new Set(['w1']));
    expect(['AuthenticationFailed', 'Unreachable'].map(isGraveAs)).toEqual([true, false]);
  });
});
