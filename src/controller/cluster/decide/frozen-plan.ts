import { z } from 'zod';
import { plannedHookSchema } from '#operations/hooks.ts';
import { plannedHostSchema, stepSchema } from '#protocol/run-spec.ts';

/**
 * The plan of an operation as it was when the operation was accepted. Every attempt carries out this one, whatever is
 * edited meanwhile, and the end of the operation is judged by it.
 */
const frozenPlanSchema = z.object({
  sequence: z.int(),
  hosts: z.array(plannedHostSchema),
  release: z.array(z.string()),
  steps: z.array(stepSchema),
  /** A plan from before there were hooks has none. */
  hooks: z.array(plannedHookSchema).default([]),
  refusals: z.array(z.object({ field: z.string(), reason: z.string() })),
});
export type FrozenPlan = z.infer<typeof frozenPlanSchema>;

/** A Secret takes 1 MiB; beside the plans stand the credentials. */
const MAX_TEXT = 700 * 1024;

function plansFrom(text: string | undefined): FrozenPlan[] {
  if (text === undefined) return [];
  try {
    return z.array(frozenPlanSchema).parse(JSON.parse(text));
  } catch {
    return [];
  }
}

/** The plan of that sequence in a text; undefined when it holds none, or others. */
export const frozenPlanFrom = (text: string | undefined, sequence: number): FrozenPlan | undefined =>
  plansFrom(text).find((plan) => plan.sequence === sequence);

/**
 * The text with a further plan. Plans after `seen`, the sequence that status shows, stay: an operation may have been
 * accepted by a write whose answer was lost, or by another leader, and would lose its plan to whoever has not seen it.
 */
export function withPlan(text: string | undefined, plan: FrozenPlan, seen: number): string {
  const kept = plansFrom(text).filter(({ sequence }) => sequence > seen && sequence < plan.sequence);
  for (;;) {
    const next = JSON.stringify([...kept, plan]);
    if (next.length <= MAX_TEXT || kept.length === 0) return next;
    kept.shift();
  }
}
