import { describe, expect, it } from 'vitest';
import type { HostResult } from '#protocol/event.ts';
import type { HostReport } from '#protocol/report.ts';
import type { Action, PlannedHost, Step } from '#protocol/run-spec.ts';
import { differenceOf, planOnRecord, resultOnRecord } from './plan-and-result.ts';

const host = (ip: string, action: Action): PlannedHost => ({
  member: { ip, name: ip, duties: ['worker'] },
  action,
});
const step = (name: string, ...hosts: string[]): Step => ({ name, hosts, pace: 'all', cut: 'between' });
const did = (ip: string, ok: boolean, ...results: HostResult[]): HostReport => ({ ip, ok, did: results });
const plan = {
  hosts: [host('a', 'join'), host('b', 'leave'), host('c', 'change'), host('d', 'stay')],
  steps: [step('Take hosts', 'a', 'b', 'c', 'd'), step('Join hosts', 'a'), step('Reset hosts', 'b')],
};
const done = [
  did('a', true, 'taken', 'reset', 'prepared', 'joined'),
  did('b', true, 'taken', 'left', 'reset'),
  did('c', true, 'taken', 'changed'),
  did('d', true, 'taken'),
];
const all = plan.steps.map(({ name }) => name);
const but = (...others: HostReport[]) =>
  done
    .map((one) => others.find(({ ip }) => ip === one.ip) ?? one)
    .concat(others.filter(({ ip }) => ip > 'd'));

describe('differenceOf', () => {
  it.each<[string, HostReport[], string[] | undefined, string[]]>([
    ['nothing: the result is the plan', done, all, []],
    ['nothing, where a run does not tell its steps', done, undefined, []],
    ['nothing, where a host needed none of it', but(did('b', true)), all.slice(0, 2), []],
    [
      'a host that did not join',
      but(did('a', false, 'taken')),
      all,
      ['a: planned to be joined, and was not'],
    ],
    ['a host that was not named', done.slice(1), all, ['a: planned to be joined, and was not']],
    [
      'a host that stays and was reset',
      but(did('d', true, 'reset')),
      all,
      ['d: was reset, which was not planned'],
    ],
    [
      'a host that leaves and joined',
      but(did('b', true, 'joined')),
      all,
      ['b: was joined, which was not planned'],
    ],
    ['a host of nobody', but(did('z', true, 'taken')), all, ['z: was taken, and is not in the plan']],
    [
      'a step that did not run',
      done,
      ['Take hosts', 'Reset hosts'],
      ['step "Join hosts" was planned, and did not run'],
    ],
    ['a step too many', done, [...all, 'Dance'], ['step "Dance" ran, and was not planned']],
  ])('finds %s', (_what, hosts, steps, expected) => {
    expect(differenceOf(plan, { hosts, ...(steps ? { steps } : {}) })).toEqual(expected);
  });

  it('stays small for a large cluster', () => {
    const hosts = Array.from({ length: 1000 }, (_, index) => host(`10.0.0.${index}`, 'join'));
    const large = { hosts, steps: [step('Take hosts', ...hosts.map(({ member: host }) => host.ip))] };
    const result = {
      success: false,
      message: '',
      hosts: hosts.map(({ member: host }) => did(host.ip, false, 'taken')),
    };
    expect(differenceOf(large, result)).toHaveLength(201);
    expect(planOnRecord(large)).toEqual({
      hosts: { join: 1000 },
      steps: [{ name: 'Take hosts', hosts: 1000 }],
    });
    expect(resultOnRecord(result)).toEqual({ hosts: { taken: 1000 } });
  });
});
