import { z } from 'zod';
import { OPERATION_NAMES, PLAN_RESULTS } from './operation-values.ts';

const text = z.string().max(4096);

/** The result of a dry run (annotation `ecs.yun.com/dry-run`). */
export const planStatusSchema = z.object({
  word: text,
  requestId: text,
  specHash: text,
  operation: z.enum(OPERATION_NAMES),
  result: z.enum(PLAN_RESULTS),
  /** All reasons why the request would be refused. */
  message: text,
  /** Steps in order. */
  steps: z.array(text).max(50),
  /** Number of hosts by action: join, change, leave, stay. */
  hosts: z.record(z.string(), z.int()),
  /** The actions of hosts that do not stay as they are. */
  changes: z.array(z.object({ ip: text, name: text, action: text })).max(100),
  /** The machine at the address of each joining host, as a hash that does not reveal the machine-id. */
  seen: z.record(z.string(), text).optional(),
  /** Sequence of the operation that was accepted last before this plan. */
  after: z.int(),
  /** The plan hash, by which a user approves the plan (annotation `ecs.yun.com/plan`). */
  hash: text,
  warnings: text.optional(),
  at: text,
});
export type PlanStatus = z.infer<typeof planStatusSchema>;
