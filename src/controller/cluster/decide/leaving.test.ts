import { describe, expect, it } from 'vitest';
import type { HostRecordStatus } from '#api/host-record.ts';
import { findOperation } from '#operations/index.ts';
import { planFor } from '#operations/plan-for.ts';
import { operation, outcome, recordsOf, resolved } from './testing/given.fixture.ts';

const [stays, leaves] = ['10.0.0.2', '10.0.0.3'];
const three = { cluster: { masterList: ['1', '2', '3'].map((last) => ({ ip: `10.0.0.${last}` })) } };
const two = { cluster: { masterList: three.cluster.masterList.slice(0, 2) } };
const running = { ...operation, name: 'scale-down' as const, word: 'scaling-down' as const, sequence: 4 };
const ours = { sequence: 4, attempt: 1 };

function given(status: HostRecordStatus, wanted = two, before = three) {
  const down = findOperation('scale-down');
  if (!down) throw new Error('no scale-down');
  const hosts = recordsOf(before, 'Joined', { touched: true }).map((record) =>
    record.spec.ip === leaves ? { ...record, status: { ...record.status, ...status } } : record,
  );
  const offer = { versions: ['v1.34.4'] };
  const made = planFor(down, { spec: wanted, applied: before, hosts, offer });
  return {
    word: 'scaling-down',
    appliedBy: 3,
    cluster: { spec: wanted, status: { phase: 'Scaling' as const } },
    operation: { ...running, spec: { ...resolved, ...wanted } },
    hosts,
    plan: {
      ...made,
      hosts: [...made.hosts],
      release: [],
      steps: [...made.steps],
      hooks: [],
      refusals: [],
      sequence: 4,
    },
  };
}

type HostResults = ('taken' | 'prepared' | 'joined' | 'changed' | 'left' | 'reset')[];
const failed = (
  steps: string[] | undefined,
  did: HostResults = ['taken'],
  others: HostResults = ['taken'],
) => ({
  kind: 'failed' as const,
  reason: 'InstallFailed',
  message: 'refused',
  report: {
    success: false,
    message: 'refused',
    ...(steps ? { steps } : {}),
    hosts: [
      { ip: stays ?? '', ok: false, did: others, message: 'refused' },
      { ip: leaves ?? '', ok: false, did, message: 'not done' },
    ],
  },
});
const cut = (by: { reason: string } | { cutShort: true }) => {
  const attempt = failed(['Take hosts', 'Check etcd', 'Drain and remove nodes']);
  return { ...attempt, ...by, report: { ...attempt.report, ...by } };
};
const noted = (state: string) =>
  expect.objectContaining({
    effects: [
      {
        kind: 'note',
        hosts: expect.arrayContaining([{ ip: leaves, status: expect.objectContaining({ state }) }]),
      },
    ],
  });

it('records which attempt was the first to remove a host', () => {
  const start = { ...given({}), operation: { ...given({}).operation, step: 'starting' } };
  expect(outcome(start)).toMatchObject({
    effects: expect.arrayContaining([
      { kind: 'note', hosts: [{ ip: leaves, status: { state: 'Leaving', leavingBy: ours } }] },
    ]),
  });
});

describe('a leaving host after a failed run', () => {
  const leaving: HostRecordStatus = { state: 'Leaving', leavingBy: ours };
  const refused = ['Take hosts', 'Check etcd'];

  it.each<[string, HostRecordStatus, ReturnType<typeof failed>]>([
    ['nothing but a check was made', leaving, failed(refused)],
    ['its pods could not be moved', leaving, failed([...refused, 'Drain and remove nodes'])],
  ])('is part of the cluster again if %s', (_, status, attempt) => {
    expect(outcome({ ...given(status), attempt })).toEqual(noted('Joined'));
  });

  it.each<[string, HostRecordStatus, ReturnType<typeof failed>]>([
    ['its node was removed', leaving, failed([...refused, 'Drain and remove nodes'], ['taken', 'left'])],
    ['members of etcd were being removed', leaving, failed([...refused, 'Remove etcd members'])],
    ['hosts were led away from it', leaving, failed(refused, ['taken'], ['taken', 'changed'])],
    [
      'an earlier attempt began to take it out',
      { ...leaving, leavingBy: { sequence: 4, attempt: 0 } },
      failed(refused),
    ],
    ['an earlier operation did', { ...leaving, leavingBy: { sequence: 3, attempt: 1 } }, failed(refused)],
    ['nobody knows who began', { state: 'Leaving' }, failed(refused)],
    ['the run does not tell its steps', leaving, failed(undefined)],
    ['its pods were being moved when it was cancelled', leaving, cut({ reason: 'Cancelled' })],
    ['how far its pods were moved is not known', leaving, cut({ cutShort: true })],
  ])('keeps the state Leaving if %s', (_, status, attempt) => {
    expect(outcome({ ...given(status), attempt })).toEqual(noted('Leaving'));
  });
});

it.each(['scale-down', 'replace', 'move-etcd'] as const)('%s names the steps that remove hosts', (name) => {
  const steps = findOperation(name)?.planning.steps ?? [];
  const takesOut = steps.flatMap((step) => (step.takesOut === 'begun' ? [step.name] : []));
  expect(takesOut).toEqual(
    expect.arrayContaining(['Point API servers at etcd', 'Remove etcd members', 'Reset hosts']),
  );
});
