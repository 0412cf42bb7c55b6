import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ground, groundOn } from '../worlds/ground.ts';
import { runPlans, trace } from './campaign.ts';
import { LIVES } from './lives.ts';
import { planFrom, textOfPlan } from './plan.ts';
import { enumeratedPlans, randomPlan, type Trace } from './plans.ts';
import { runPlan } from './run-plan.ts';

let ground: Ground;
let expected: Trace;

beforeAll(async () => {
  ground = await groundOn(inject('kubeconfigPath'));
  expected = await trace(ground, ['create', 'delete']);
});
afterAll(() => ground.leave());

describe('creating and deleting a cluster', () => {
  it('survives a crash before and after every write, and every stale read', async () => {
    const plans = enumeratedPlans(expected);
    expect(plans.length).toBeGreaterThan(80);
    const failures: string[] = [];
    let met = 0;
    await runPlans(ground, plans, expected, {
      atOnce: 8,
      tell: (verdict) => {
        if (verdict.met) met += 1;
        if (verdict.problems.length > 0)
          failures.push(`make faults PLAN=${textOfPlan(verdict.plan)}: ${verdict.problems.join('; ')}`);
      },
    });
    expect(failures).toEqual([]);
    // Events may be merged, so a plan may have one read less, and its fault is not reached.
    expect(met).toBeGreaterThan(plans.length * 0.9);
  });
});

describe.each(LIVES.map((steps) => ({ life: steps.join('+'), steps })))('the life $life', ({ steps }) => {
  it.concurrent('ends without a problem if there is no fault', async () => {
    expect((await runPlan(ground, { steps, faults: [] })).problems).toEqual([]);
  });
});

describe('a plan', () => {
  it('is reproduced from its text and from its seed', () => {
    for (const seed of [1, 2, 3, 4_711]) {
      const plan = randomPlan(seed, expected);
      expect(planFrom(textOfPlan(plan))).toEqual(plan);
      expect(randomPlan(seed, expected)).toEqual(plan);
    }
    expect(() => planFrom('create,bogus@create:run:1')).toThrow('no fault');
    expect(() => planFrom('sleep')).toThrow('no step');
  });
});
