import { describe, expect, it } from 'vitest';
import type { PlanStatus } from '#api/plan-status.ts';
import type { AttemptState } from '#installer/installer.ts';
import { statusAfter } from '../status/status.ts';
import { joined, operation, outcome, recordsOf, signal, snapshot, spec } from '../testing/given.fixture.ts';
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

describe('a dry run', () => {
  it('reports Checking, then checks the hosts without a playbook, and holds none', () => {
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

  it('runs although the cluster is paused', () => {
    const paused = { ...creating, cluster: { spec: { ...spec, paused: true } } };
    expect(signal(paused)).toBe('dry-run');
    expect(signal({ ...paused, dryRun: false })).toBe('paused');
  });

  it('starts its check again if the run is absent', () => {
    expect(outcome(checked({ kind: 'absent' }))).toMatchObject({ effects: [{ kind: 'check-hosts' }] });
  });

  it('reports the changes, or every reason against them', () => {
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

  it('includes the machines of joining hosts in the plan hash, and hides their ids', () => {
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

  it('checks the hosts of an upgrade for the version that is wanted', () => {
    const ended = { ...operation, step: 'done', result: 'finished', recorded: true } as const;
    const updating: Given = {
      word: 'updating',
      requestId: 'r2',
      dryRun: true,
      appliedBy: 1,
      hosts: joined,
      operation: ended,
      offer: { versions: ['v1.35.4', 'v1.34.4'] },
      cluster: { spec: { cluster: { ...spec.cluster, kubeVersion: 'v1.35.4' } } },
    };
    const it = outcome({ ...updating, cluster: { ...updating.cluster, status: { plan: planIn(updating) } } });
    expect(it).toMatchObject({
      effects: [
        {
          attempt: {
            runSpec: {
              vars: { kube_version: 'v1.35.4' },
              steps: expect.arrayContaining([expect.objectContaining({ name: 'Prepare control planes' })]),
            },
          },
        },
      ],
    });
  });

  it('checks no host if the plan itself is refused', () => {
    const cluster = { spec: { cluster: { ...spec.cluster, masterList: [] } } };
    expect(outcome({ ...creating, cluster })).toMatchObject({
      kind: 'rest',
      plan: { result: 'Refused', message: expect.stringContaining('masterList') },
    });
  });

  it('removes its run after the result is written, and keeps the result', () => {
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

  it('checks again for a new request-id, also of an edit', () => {
    expect(jobIn(begun({ ...creating, requestId: 'r2' }))).not.toBe(jobIn(begun()));
    const hosts = recordsOf({ cluster: { masterList: [{ ip: '10.0.0.1' }] } }, 'Joined', { touched: true });
    const edited: Given = { dryRun: true, hosts, appliedBy: 1, kubeconfig: { kind: 'present' } };
    expect(planIn(edited)).toMatchObject({ operation: 'scale-up', requestId: 'r1' });
    expect(planIn({ ...edited, requestId: 'r2' })).toMatchObject({ requestId: 'r2' });
  });

  it('plans a deletion, deletes nothing, and warns of hosts that were not reached', () => {
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

  it('is refused with HostConflict if another cluster has a host', () => {
    const refusal = { reason: 'HostConflict', message: '10.0.0.2 belongs to a/b' };
    expect(rehearsalRefused(snapshot(begun()), refusal)).toMatchObject({
      kind: 'rest',
      plan: { result: 'Refused', message: 'HostConflict: 10.0.0.2 belongs to a/b' },
    });
    expect(rehearsalRefused(snapshot({ word: 'creating' }), refusal)).toBeUndefined();
  });

  it('removes its run and starts the operation after the annotation is removed', () => {
    expect(signal({ ...checked({ kind: 'running' }), dryRun: false })).toBe('leftovers');
    expect(outcome({ word: 'creating' })).toMatchObject({ kind: 'accept', operation: 'create' });
  });

  it('removes its plan from status if the outcome has none', () => {
    const plan = planIn(checked({ kind: 'succeeded' }));
    const given = snapshot({ ...creating, cluster: { status: { plan } } });
    expect(statusAfter(given, { kind: 'rest', plan }).plan).toEqual(plan);
    expect(statusAfter(given, { kind: 'rest' })).not.toHaveProperty('plan');
  });
});
