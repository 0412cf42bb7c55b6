import { z } from 'zod';
import { OPERATION_NAMES, PLAN_RESULTS } from './words.ts';

const text = z.string().max(4096);

/** What a dry run says of a request (annotation `ecs.yun.com/dry-run`). */
export const planStatusSchema = z.object({
  word: text,
  requestId: text,
  specHash: text,
  operation: z.enum(OPERATION_NAMES),
  result: z.enum(PLAN_RESULTS),
  /** Why it would be refused, every reason. */
  message: text,
  /** Steps in order. */
  steps: z.array(text).max(50),
  /** How many hosts join, change, leave or stay. */
  hosts: z.record(z.string(), z.int()),
  /** What becomes of hosts that do not stay as they are. */
  changes: z.array(z.object({ ip: text, name: text, action: text })).max(100),
  /** Which machine was seen at the address of each host that joins; no machine-id can be told from it. */
  seen: z.record(z.string(), text).optional(),
  /** Sequence of the operation that was accepted last before it. */
  after: z.int(),
  /** Hash of the whole plan, by which it can be agreed to (annotation `ecs.yun.com/plan`). */
  hash: text,
  warnings: text.optional(),
  at: text,
});
export type PlanStatus = z.infer<typeof planStatusSchema>;
