import { z } from 'zod';
import { plannedHookSchema } from '#operations/hooks.ts';
import { plannedHostSchema, stepSchema } from '#protocol/run-spec.ts';

/**
 * The plan of an operation as it was accepted. Every attempt carries out this plan, even if the spec is edited meanwhile.
 * The result of the operation is compared with it.
 */
const frozenPlanSchema = z.object({
  sequence: z.int(),
  hosts: z.array(plannedHostSchema),
  release: z.array(z.string()),
  steps: z.array(stepSchema),
  /** A plan that an operator without hooks stored has none. */
  hooks: z.array(plannedHookSchema).default([]),
  refusals: z.array(z.object({ field: z.string(), reason: z.string() })),
});
export type FrozenPlan = z.infer<typeof frozenPlanSchema>;

/** A Secret holds at most 1 MiB, and this one also holds the credentials. */
const MAX_TEXT = 700 * 1024;

function plansFrom(text: string | undefined): FrozenPlan[] {
  if (text === undefined) return [];
  try {
    return z.array(frozenPlanSchema).parse(JSON.parse(text));
  } catch {
    return [];
  }
}

/** Returns the plan of that sequence from a text; undefined if the text has none, or only other sequences. */
export const frozenPlanFrom = (text: string | undefined, sequence: number): FrozenPlan | undefined =>
  plansFrom(text).find((plan) => plan.sequence === sequence);

/**
 * Returns the text with a further plan. Plans after `seen`, the sequence in status, stay. The answer to the write that
 * accepted such an operation may be lost, or another leader may have accepted it; the operation would lose its plan.
 */
export function withPlan(text: string | undefined, plan: FrozenPlan, seen: number): string {
  const kept = plansFrom(text).filter(({ sequence }) => sequence > seen && sequence < plan.sequence);
  for (;;) {
    const next = JSON.stringify([...kept, plan]);
    if (next.length <= MAX_TEXT || kept.length === 0) return next;
    kept.shift();
  }
}
