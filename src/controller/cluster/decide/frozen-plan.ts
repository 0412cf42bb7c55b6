import { z } from 'zod';
import { plannedHostSchema, stepSchema } from '#protocol/order.ts';

/**
 * The plan of an operation as it was when the operation was accepted. Every attempt carries out this one, whatever is
 * edited meanwhile, and the end of the operation is judged by it.
 */
const frozenPlanSchema = z.object({
  sequence: z.int(),
  hosts: z.array(plannedHostSchema),
  release: z.array(z.string()),
  steps: z.array(stepSchema),
  refusals: z.array(z.object({ field: z.string(), reason: z.string() })),
});
export type FrozenPlan = z.infer<typeof frozenPlanSchema>;

/** The plan of that sequence in a text; undefined when it holds none, or another one's. */
export function frozenPlanFrom(text: string | undefined, sequence: number): FrozenPlan | undefined {
  if (text === undefined) return undefined;
  try {
    const plan = frozenPlanSchema.parse(JSON.parse(text));
    return plan.sequence === sequence ? plan : undefined;
  } catch {
    return undefined;
  }
}
