import { describe, expect, it } from 'vitest';
import type { PlanStatus } from '#api/kubernetes-cluster.ts';
import type { AttemptState } from '#installer/installer.ts';
import { statusAfter } from './status.ts';
import { outcome, recordsOf, signal, snapshot, spec } from './testing/given.fixture.ts';

const creating = { word: 'creating', dryRun: true };
const jobIn = (given: Parameters<typeof outcome>[0]): string => {
  const it = outcome(given);
  const start = it.kind === 'act' ? it.effects.find(({ kind }) => kind === 'start') : undefined;
  if (start?.kind !== 'start') throw new Error(`no run is started: ${JSON.stringify(it)}`);
  return start.attempt.job;
};
const job = (): string => jobIn(creating);
const checked = (state: AttemptState) => {
  const ref = { clusterId: 'id1', job: job(), sequence: 0, attempt: 1, errand: 'precheck' };
  return { ...creating, attempts: [ref], check: { ref, state } };
};
const planIn = (given: Parameters<typeof outcome>[0]): PlanStatus | undefined => {
  const it = outcome(given);
  return 'plan' in it ? it.plan : undefined;
};

describe('what is only to be planned', () => {
  it('looks at the hosts by a run without a playbook, and holds none of them', () => {
    expect(signal(creating)).toBe('rehearsed');
    expect(outcome(creating)).toMatchObject({
      kind: 'act',
      effects: [
        { kind: 'ask-for', members: [{}, {}, {}] },
        { kind: 'start', attempt: { errand: 'precheck', order: { precheck: 'all', brings: [] } } },
      ],
    });
    const started = outcome(creating);
    expect(JSON.stringify(started)).not.toContain('playbook');
  });

  it('says while it looks that nothing has begun', () => {
    expect(outcome(checked({ kind: 'running' }))).toMatchObject({
      kind: 'wait',
      stall: { reason: 'DryRun', message: expect.stringContaining('nothing has begun') },
      plan: { result: 'Checking', operation: 'create', hosts: { join: 3 } },
    });
  });

  it('says what would be done, or every reason why not', () => {
    const plan = planIn(checked({ kind: 'succeeded' }));
    expect(plan).toMatchObject({ result: 'Possible', message: '', word: 'creating', requestId: 'r1' });
    expect(plan?.steps).toContain('Take hosts');
    expect(plan?.changes).toContainEqual({ ip: '10.0.0.1', name: 'host-10-0-0-1', action: 'join' });
    const failed = {
      kind: 'failed' as const,
      reason: 'PrecheckFailed',
      message: '10.0.0.2: no room; 10.0.0.3: swap',
    };
    expect(planIn(checked(failed))).toMatchObject({
      result: 'Refused',
      message: 'PrecheckFailed: 10.0.0.2: no room; 10.0.0.3: swap',
    });
    expect(planIn(checked({ kind: 'lost', why: 'its Job is gone' }))?.message).toContain('its Job is gone');
  });

  it('looks at no host where the plan itself is refused', () => {
    const cluster = { spec: { cluster: { ...spec.cluster, masterList: [] } } };
    expect(outcome({ ...creating, cluster })).toMatchObject({
      kind: 'rest',
      plan: { result: 'Refused', message: expect.stringContaining('masterList') },
    });
  });

  it('removes the run once its answer is written, and stays with the answer', () => {
    const given = checked({ kind: 'succeeded' });
    const plan = planIn(given);
    if (!plan) throw new Error('there is no plan');
    const told = { ...given, cluster: { status: { plan } } };
    expect(outcome(told)).toMatchObject({
      kind: 'act',
      effects: [{ kind: 'discard', attempts: [{ job: job() }] }],
    });
    expect(outcome({ ...creating, cluster: { status: { plan } } })).toMatchObject({ kind: 'rest', plan });
  });

  it('looks again at another request', () => {
    const plan = planIn(checked({ kind: 'succeeded' }));
    if (!plan) throw new Error('there is no plan');
    const again = { ...creating, requestId: 'r2', cluster: { status: { plan } } };
    expect(jobIn(again)).not.toBe(job());
  });

  it('plans a deletion that is asked by its word, and deletes nothing', () => {
    const hosts = recordsOf(spec, 'Joined', { touched: true });
    const given = { word: 'terminating', dryRun: true, hosts, appliedBy: 1 };
    expect(outcome(given)).toMatchObject({
      kind: 'act',
      effects: [
        { kind: 'ask-for', members: [] },
        { kind: 'start', attempt: { errand: 'precheck' } },
      ],
    });
    expect(outcome({ ...given, dryRun: false })).toMatchObject({ effects: [{ kind: 'delete-object' }] });
  });

  it('begins once the annotation is gone, and its run goes with it', () => {
    expect(signal({ ...checked({ kind: 'running' }), dryRun: false })).toBe('untidy');
    expect(outcome({ word: 'creating' })).toMatchObject({ kind: 'accept', operation: 'create' });
  });

  it('leaves its answer in status only while the annotation stands', () => {
    const plan = planIn(checked({ kind: 'succeeded' }));
    if (!plan) throw new Error('there is no plan');
    const status = { plan };
    expect(statusAfter(snapshot({ ...creating, cluster: { status } }), { kind: 'rest' }).plan).toEqual(plan);
    expect(statusAfter(snapshot({ cluster: { status } }), { kind: 'rest' })).not.toHaveProperty('plan');
  });
});
