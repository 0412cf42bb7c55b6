import { z } from 'zod';
import type { OperationName } from './operation-values.ts';
import { pinnedFileSchema } from './pinned-file.ts';

/** A user's own playbooks around operations: `spec.hooks`. A deletion has none, since it must always end. */

/** Operations that may have hooks. */
const HOOKED = [
  'create',
  'scale-up',
  'scale-down',
  'relabel',
  'replace',
  'move-etcd',
  'repair',
  'renew',
  'rotate',
  'reconfigure',
  'update',
  'rollback',
  'snapshot',
  'restore',
] as const satisfies readonly OperationName[];

/** Before the run of an operation, or after it has succeeded. */
export const HOOK_TIMES = ['pre', 'post'] as const;
export type HookTime = (typeof HOOK_TIMES)[number];

const MAX_HOOKS = 5;

/** Returns the field of an operation's hooks: `preScaleUp`. */
export const hookKey = (time: HookTime, operation: OperationName): string =>
  time +
  operation
    .split('-')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');

const said = { pre: 'before the run of', post: 'after success of' } as const;
const listOf = (time: HookTime, operation: OperationName) =>
  z
    .array(pinnedFileSchema)
    .max(MAX_HOOKS)
    .optional()
    .meta({ description: `Playbooks that are run ${said[time]} ${operation}, in this order.` });

export const hooksSchema = z.object(
  Object.fromEntries(
    HOOKED.flatMap((operation) =>
      HOOK_TIMES.map((time) => [hookKey(time, operation), listOf(time, operation)]),
    ),
  ),
);
