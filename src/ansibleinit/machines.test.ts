import { describe, expect, it } from 'vitest';
import { said } from '#precheck/said.ts';
import { type Action, META_NODE, machineSeen, type PlannedHost } from '#protocol/run-spec.ts';
import { leftAlone } from './left-alone.ts';
import { machineProblems } from './machines.ts';

const host = (ip: string, action: Action, more: Partial<PlannedHost> = {}): PlannedHost => ({
  member: { ip, name: ip, duties: ['worker'] },
  action,
  ...more,
});
const cluster = { id: 'c1', namespace: 'a', name: 'demo', region: 'default' };
const saying = (ip: string, ...lines: string[]) => ({
  said: new Map([[ip, said(['@machineId id-a', ...lines].join('\n'))]]),
  problems: [],
});

describe('a host that joins under an approved plan', () => {
  const problems = (seen: string) => machineProblems({ hosts: [host('w1', 'join', { seen })] }, saying('w1'));

  it('is refused if it is not the machine that the dry run saw', () => {
    expect(problems(machineSeen('id-a'))).toEqual([]);
    expect(problems(machineSeen('id-b'))).toMatchObject([
      { ip: 'w1', check: 'HostChanged', severity: 'error', message: expect.stringMatching(/plan it anew/) },
    ]);
  });
});

describe('a machine that is known at another address', () => {
  const runSpec = (action: Action, owner: string) => ({
    cluster,
    hosts: [host('10.0.0.22', action)],
    knownMachines: { [machineSeen('id-a')]: owner },
  });

  it.each([
    ['10.0.0.2', 'is host 10.0.0.2 of this cluster already'],
    ['a/other', 'is on record as a host of cluster a/other'],
    [META_NODE, 'is a node of the meta cluster'],
    ['', 'is on record as a host of a cluster of another namespace'],
  ])('does not join: %s', (owner, says) => {
    const message = expect.stringContaining(says);
    expect(machineProblems(runSpec('join', owner), saying('10.0.0.22'))).toMatchObject([
      { ip: '10.0.0.22', severity: 'error', message },
    ]);
  });

  it('is not reset if the address leaves', () => {
    const ours = '@owner {"clusterId":"c1","released":false}';
    const answer = saying('10.0.0.22', ours);
    expect([...leftAlone(runSpec('leave', '10.0.0.2'), answer)]).toEqual(['10.0.0.22']);
    expect([...leftAlone(runSpec('leave', '10.0.0.22'), answer)]).toEqual([]);
  });

  it('is accepted if the host is only changed', () => {
    expect(machineProblems(runSpec('change', '10.0.0.2'), saying('10.0.0.22'))).toEqual([]);
  });
});
