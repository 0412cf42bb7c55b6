import { expect, it } from 'vitest';
import { said } from '#precheck/said.ts';
import type { Action, PlannedHost } from '#protocol/run-spec.ts';
import { hostsAhead } from './hosts-ahead.ts';
import { isGrave } from './left-alone.ts';

const host = (ip: string, action: Action): PlannedHost => ({
  member: { ip, name: ip, duties: ['worker'] },
  action,
});
const runSpec = {
  cluster: { id: 'c1', namespace: 'a', name: 'demo', region: 'default' },
  run: { job: 'delete-x-1', sequence: 5, attempt: 1 },
  hosts: [host('10.0.0.1', 'leave'), host('10.0.0.2', 'leave')],
};
const taken = (clusterId: string, sequence: number, released = false) =>
  said(`@owner ${JSON.stringify({ clusterId, epoch: { sequence, attempt: 1 }, podUid: 'p', released })}`);
const found = (...answers: ReturnType<typeof said>[]) => ({
  said: new Map(answers.map((answer, index) => [`10.0.0.${index + 1}`, answer])),
});

it('finds hosts that a later operation of the cluster has taken, and fails the deletion', () => {
  const { problems, sequence } = hostsAhead(runSpec, found(taken('c1', 8), taken('c1', 7, true)));
  expect(sequence).toBe(8);
  expect(problems).toMatchObject([
    { ip: '10.0.0.1', check: 'StaleRun', message: expect.stringContaining('operation 8 of this cluster') },
    { ip: '10.0.0.2', check: 'StaleRun' },
  ]);
  // A leaving host may be away, but not ahead: it would be left alone, and the deletion would count as done.
  for (const problem of problems) expect(isGrave(problem, runSpec, new Set(['10.0.0.1']))).toBe(true);
});

it('ignores hosts of the same or an earlier operation, or of another cluster', () => {
  expect(hostsAhead(runSpec, found(taken('c1', 5), taken('c2', 9)))).toEqual({
    problems: [],
    sequence: undefined,
  });
  expect(hostsAhead(runSpec, found(said(''), said('@owner {broken')))).toMatchObject({ problems: [] });
});
