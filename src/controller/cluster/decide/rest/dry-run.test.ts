import { describe, expect, it } from 'vitest';
import type { PlanStatus } from '#api/plan-status.ts';
import type { AttemptState } from '#installer/installer.ts';
import { statusAfter } from '../status/status.ts';
import { outcome, recordsOf, signal, snapshot, spec } from '../testing/given.fixture.ts';
import { rehearsalRefused } from './dry-run.ts';

type Given = Parameters<typeof outcome>[0];
const creating: Given = { word: 'creating', dryRun: true };
const planIn = (given: Given): PlanStatus => {
  const it = outcome(given);
  if (!('plan' in it) || !it.plan) throw new Error(`no plan is told: ${JSON.stringify(it)}`);
  return it.plan;
};
/** Adds the first answer, `Checking`, to status. */
const begun = (given: Given = creating): Given => ({
  ...given,
  cluster: { ...given.cluster, status: { plan: planIn(given) } },
});
const jobIn = (given: Given): string => {
  const it = outcome(given);
  const probe = it.kind === 'act' ? it.effects.find(({ kind }) => kind === 'check-hosts') : undefined;
  if (probe?.kind !== 'check-hosts') throw new Error(`no run is started: ${JSON.stringify(it)}`);
  return probe.attempt.job;
};
const checked = (state: AttemptState, given: Given = creating): Given => {
  const job = jobIn(begun(given));
  const ref = { clusterId: 'id1', job, sequence: 0, attempt: 1, auxiliary: 'precheck' };
  return { ...begun(given), attempts: [ref], check: { ref, state } };
};

describe('what is only to be planned', () => {
  it('is told as being looked at, then its hosts are looked at without a playbook, and none is held', () => {
    expect(signal(creating)).toBe('dry-run');
    expect(outcome(creating)).toMatchObject({
      kind: 'wait',
      stall: { reason: 'DryRun', message: expect.stringContaining('nothing has begun') },
      plan: { result: 'Checking', operation: 'create', hosts: { join: 3 } },
    });
    expect(outcome(begun())).toMatchObject({
      kind: 'act',
      effects: [
        {
          kind: 'check-hosts',
          hosts: [{}, {}, {}],
          attempt: { auxiliary: 'precheck', runSpec: { precheck: 'all', brings: [] } },
        },
      ],
    });
    expect(JSON.stringify(outcome(begun()))).not.toContain('playbook');
    expect(outcome(checked({ kind: 'running' }))).toMatchObject({
      kind: 'wait',
      plan: { result: 'Checking' },
    });
  });

  it('is planned though the cluster is paused, which only holds what would begin', () => {
    const paused = { ...creating, cluster: { spec: { ...spec, paused: true } } };
    expect(signal(paused)).toBe('dry-run');
    expect(signal({ ...paused, dryRun: false })).toBe('paused');
  });

  it('is looked at by a run that is made whole, though it was begun before', () => {
    expect(outcome(checked({ kind: 'absent' }))).toMatchObject({ effects: [{ kind: 'check-hosts' }] });
  });

  it('says what would be done, or every reason why not', () => {
    const plan = planIn(checked({ kind: 'succeeded' }));
    expect(plan).toMatchObject({ result: 'Possible', message: '', word: 'creating', requestId: 'r1' });
    expect(plan.steps).toContain('Take hosts');
    expect(plan.changes).toContainEqual({ ip: '10.0.0.1', name: 'host-10-0-0-1', action: 'join' });
    const message = '10.0.0.2: no room; 10.0.0.3: swap';
    expect(planIn(checked({ kind: 'failed', reason: 'PrecheckFailed', message }))).toMatchObject({
      result: 'Refused',
      message: `PrecheckFailed: ${message}`,
    });
    expect(planIn(checked({ kind: 'lost', why: 'its Job is gone' })).message).toContain('its Job is gone');
    const blocked = { reason: 'ErrImagePull', message: 'not found', outdated: true };
    expect(planIn(checked({ kind: 'running', blocked }))).toMatchObject({ result: 'Refused' });
  });

  it('is of the machines that it has seen where hosts are to join, and tells no id of them', () => {
    const reportOf = (machineId: string) => ({
      success: true,
      message: 'done',
      hosts: [{ ip: '10.0.0.2', ok: true, did: [], machineId }],
    });
    const seen = (machineId: string) => planIn(checked({ kind: 'succeeded', report: reportOf(machineId) }));
    expect(Object.keys(seen('a'.repeat(32)).seen ?? {})).toEqual(['10.0.0.2']);
    expect(JSON.stringify(seen('a'.repeat(32)))).not.toContain('a'.repeat(8));
    expect(seen('a'.repeat(32)).hash).toBe(seen('a'.repeat(32)).hash);
    expect(seen('a'.repeat(32)).hash).not.toBe(seen('b'.repeat(32)).hash);
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
    const job = given.attempts?.[0]?.job;
    const reported = { ...given, cluster: { status: { plan } } };
    expect(outcome(reported)).toMatchObject({
      kind: 'act',
      effects: [{ kind: 'discard', attempts: [{ job }] }],
    });
    expect(outcome({ ...creating, cluster: { status: { plan } } })).toMatchObject({ kind: 'rest', plan });
  });

  it('looks again at another request, of an edit too', () => {
    expect(jobIn(begun({ ...creating, requestId: 'r2' }))).not.toBe(jobIn(begun()));
    const hosts = recordsOf({ cluster: { masterList: [{ ip: '10.0.0.1' }] } }, 'Joined', { touched: true });
    const edited: Given = { dryRun: true, hosts, appliedBy: 1, kubeconfig: { kind: 'present' } };
    expect(planIn(edited)).toMatchObject({ operation: 'scale-up', requestId: 'r1' });
    expect(planIn({ ...edited, requestId: 'r2' })).toMatchObject({ requestId: 'r2' });
  });

  it('plans a deletion that is asked by its word, deletes nothing, and names hosts that would stay as they are', () => {
    const hosts = recordsOf(spec, 'Joined', { touched: true });
    const given = { word: 'terminating', dryRun: true, hosts, appliedBy: 1 };
    expect(outcome(begun(given))).toMatchObject({
      kind: 'act',
      effects: [{ kind: 'check-hosts', hosts: [], attempt: { auxiliary: 'precheck' } }],
    });
    expect(outcome({ ...given, dryRun: false })).toMatchObject({ effects: [{ kind: 'delete-object' }] });
    const report = {
      success: true,
      message: 'done',
      hosts: [
        // As a check reports a host that answered: no play has changed it.
        { ip: '10.0.0.1', ok: false, did: [], machineId: 'm1' },
        { ip: '10.0.0.2', ok: false, did: [] },
        { ip: '10.0.0.3', ok: false, did: [], message: 'Unreachable' },
      ],
    };
    expect(planIn(checked({ kind: 'succeeded', report }, given))).toMatchObject({
      result: 'Possible',
      warnings: '10.0.0.2: it was not reached; 10.0.0.3: Unreachable',
    });
  });

  it('is refused where a host or the way to it is not the cluster’s to use', () => {
    const refusal = { reason: 'HostConflict', message: '10.0.0.2 belongs to a/b' };
    expect(rehearsalRefused(snapshot(begun()), refusal)).toMatchObject({
      kind: 'rest',
      plan: { result: 'Refused', message: 'HostConflict: 10.0.0.2 belongs to a/b' },
    });
    expect(rehearsalRefused(snapshot({ word: 'creating' }), refusal)).toBeUndefined();
  });

  it('begins once the annotation is gone, and its run goes with it', () => {
    expect(signal({ ...checked({ kind: 'running' }), dryRun: false })).toBe('leftovers');
    expect(outcome({ word: 'creating' })).toMatchObject({ kind: 'accept', operation: 'create' });
  });

  it('leaves no answer in status to what it was not given to', () => {
    const plan = planIn(checked({ kind: 'succeeded' }));
    const given = snapshot({ ...creating, cluster: { status: { plan } } });
    expect(statusAfter(given, { kind: 'rest', plan }).plan).toEqual(plan);
    expect(statusAfter(given, { kind: 'rest' })).not.toHaveProperty('plan');
  });
});
