import { describe, expect, it } from 'vitest';
import { annotations } from '#api/names.ts';
import { create } from '#operations/create.ts';
import { planHash, withSeen } from '#operations/plan-hash.ts';
import { agreedPlan, presentPlan } from './approved-plan.ts';
import { statusAfter } from './status/status.ts';
import { operation, outcome, signal, snapshot, spec } from './testing/given.fixture.ts';

/** Returns the plan that a dry run of the fixtures' creation writes to status. */
function planned() {
  const reported = outcome({ word: 'creating', dryRun: true });
  const plan = 'plan' in reported ? reported.plan : undefined;
  if (!plan) throw new Error('there is no plan');
  return plan;
}
const agreed = (hash: string) => ({ [annotations.plan]: hash });
const other = { cluster: { ...spec.cluster, nodeList: [{ ip: '10.0.0.2' }, { ip: '10.0.0.4' }] } };

describe('a request with a plan hash', () => {
  it('is accepted while the plan has that hash', () => {
    expect(signal({ word: 'creating', extraAnnotations: agreed(planned().hash) })).toBe('requested');
    expect(signal({ word: 'creating', extraAnnotations: agreed('0'.repeat(64)) })).toBe('plan-changed');
  });

  it('waits if the plan changed, and reports the difference while it is known', () => {
    const plan = planned();
    const given = {
      word: 'creating',
      extraAnnotations: agreed(plan.hash),
      cluster: { spec: other, status: { phase: '' as const, plan } },
    };
    const reported = outcome(given);
    expect(reported).toMatchObject({
      kind: 'rest',
      plan,
      stall: {
        reason: 'PlanChanged',
        message: expect.stringContaining(
          'host 10.0.0.3: no change, was join; host 10.0.0.4: join, was no change; plan it anew',
        ),
      },
    });
    const status = statusAfter(snapshot(given), reported);
    expect([status.plan, status.summary]).toEqual([plan, 'PlanChanged: plan it anew, then agree to that']);
    const unknown = outcome({ ...given, cluster: { spec: other, status: { phase: '' as const } } });
    expect(unknown).toMatchObject({
      stall: { message: expect.stringContaining('now does this: 10.0.0.1 join') },
    });
    expect(unknown).not.toHaveProperty('plan');
  });

  it('is accepted only with the machines that the dry run saw', () => {
    const known = planned();
    const seen = { '10.0.0.2': 'machine-a' };
    const hash = planHash(create.name, withSeen(presentPlan(snapshot({}), create), seen), 0);
    const given = (plan: object) => ({
      word: 'creating',
      extraAnnotations: agreed(hash),
      cluster: { status: { phase: '' as const, plan: { ...known, hash, ...plan } } },
    });
    expect(signal(given({ seen }))).toBe('requested');
    const hosts = agreedPlan(snapshot(given({ seen })), create).hosts;
    expect(hosts.map(({ member: { ip }, seen: machine }) => [ip, machine])).toContainEqual([
      '10.0.0.2',
      'machine-a',
    ]);
    // Another dry run found another machine, so the plan is not the approved one.
    expect(signal(given({ seen: { '10.0.0.2': 'machine-b' } }))).toBe('plan-changed');
    expect(signal(given({ hash: known.hash, seen }))).toBe('plan-changed');
  });

  it('keeps its plan in status during a pause, and drops a plan of another hash', () => {
    const plan = planned();
    const given = (hash: string) =>
      snapshot({
        word: 'creating',
        extraAnnotations: agreed(hash),
        cluster: { status: { phase: '' as const, plan } },
      });
    const held = { kind: 'rest', stall: { reason: 'Paused', message: 'it is paused' } } as const;
    expect(statusAfter(given(plan.hash), held).plan).toEqual(plan);
    expect(statusAfter(given('0'.repeat(64)), held)).not.toHaveProperty('plan');
  });

  it('does not restrict the next request after it was accepted', () => {
    const hash = planned().hash;
    const ended = { ...operation, result: 'failed' as const, recorded: true, requestId: 'r0', plan: hash };
    const given = {
      word: 'creating',
      extraAnnotations: agreed(hash),
      cluster: { status: { phase: 'Failed' as const } },
    };
    expect(signal({ ...given, operation: ended })).toBe('requested');
    expect(signal({ ...given, operation: { ...ended, plan: '0'.repeat(64) } })).toBe('plan-changed');
  });

  it('may be a deletion', () => {
    expect(signal({ word: 'terminating', extraAnnotations: agreed('0'.repeat(64)) })).toBe('plan-changed');
    expect(signal({ word: 'terminating' })).toBe('requested');
  });
});
