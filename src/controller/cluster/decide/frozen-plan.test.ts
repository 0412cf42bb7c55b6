import { expect, it } from 'vitest';
import { type FrozenPlan, frozenPlanFrom, withPlan } from './frozen-plan.ts';

const planOf = (sequence: number, hosts = 1): FrozenPlan => ({
  sequence,
  hosts: Array.from({ length: hosts }, (_, index) => ({
    member: { ip: `10.0.${index >> 8}.${index % 256}`, name: `host-${index}`, duties: ['worker' as const] },
    action: 'join' as const,
  })),
  release: [],
  steps: [],
  hooks: [],
  refusals: [],
});

it('finds a plan by its sequence, and none in a malformed list', () => {
  const text = withPlan(undefined, planOf(1), 0);
  expect(frozenPlanFrom(text, 1)).toEqual(planOf(1));
  expect(frozenPlanFrom(text, 2)).toBeUndefined();
  for (const none of [undefined, '', '{}', '[{}]', 'null']) expect(frozenPlanFrom(none, 1)).toBeUndefined();
});

it('keeps the plans after the sequence in status', () => {
  const unseen = withPlan(withPlan(undefined, planOf(1), 0), planOf(2), 0);
  expect([1, 2].map((sequence) => frozenPlanFrom(unseen, sequence)?.sequence)).toEqual([1, 2]);
  const seen = withPlan(unseen, planOf(3), 1);
  expect([1, 2, 3].map((sequence) => frozenPlanFrom(seen, sequence)?.sequence)).toEqual([undefined, 2, 3]);
});

it('drops the oldest plans if a Secret could not hold them all', () => {
  let text: string | undefined;
  for (let sequence = 1; sequence <= 30; sequence += 1) text = withPlan(text, planOf(sequence, 1_000), 0);
  expect(text?.length).toBeLessThan(1024 * 1024);
  expect(frozenPlanFrom(text, 30)).toBeDefined();
  expect(frozenPlanFrom(text, 29)).toBeDefined();
  expect(frozenPlanFrom(text, 1)).toBeUndefined();
});
