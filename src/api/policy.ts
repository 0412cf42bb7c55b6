import { z } from 'zod';
import { hostSchema } from './host.ts';

/** The actions that the operator may take by itself (spec.policy). */

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
      description: 'Spare hosts. The first suitable one replaces a control plane and leaves this list.',
      listMapKeys: ['ip'],
    }),
  replaceAfterMinutes: z
    .int()
    .min(1)
    .max(DAY_MINUTES)
    .optional()
    .meta({ description: 'Minutes that a control plane must be away before it is replaced; default 10.' }),
  replaceAtMostEveryHours: z
    .int()
    .min(1)
    .max(MONTH_HOURS)
    .optional()
    .meta({ description: 'Minimum hours between two such replacements; default 24.' }),
  inferDestructive: z.boolean().optional().meta({
    description:
      'Starts an edit that removes hosts without the operation annotation, like one that adds hosts; default false.',
  }),
});
