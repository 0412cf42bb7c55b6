import { z } from 'zod';
import { hostSchema } from './host.ts';

/** What the operator is ordered to do by itself (spec.policy). */

export const POLICY_DEFAULTS = { replaceAfterMinutes: 10, replaceAtMostEveryHours: 24 } as const;

const MAX_SPARES = 10;
const DAY_MINUTES = 24 * 60;
const MONTH_HOURS = 30 * 24;

export const policySchema = z.object({
  replaceFrom: z
    .array(hostSchema)
    .max(MAX_SPARES)
    .optional()
    .meta({
      description:
        'Spare hosts. The first that fits takes the place of a control plane, and leaves this list.',
      listMapKeys: ['ip'],
    }),
  replaceAfterMinutes: z
    .int()
    .min(1)
    .max(DAY_MINUTES)
    .optional()
    .meta({ description: 'How long a control plane must be away before it is replaced; default 10.' }),
  replaceAtMostEveryHours: z
    .int()
    .min(1)
    .max(MONTH_HOURS)
    .optional()
    .meta({ description: 'Hours that lie between two such replacements at least; default 24.' }),
  inferDestructive: z.boolean().optional().meta({
    description:
      'Whether an edit that takes hosts out begins by itself, as one that adds some does; default false.',
  }),
});
