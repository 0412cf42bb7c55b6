import { z } from 'zod';
import { hostSchema } from './host.ts';

/** The actions that the operator may take by itself (spec.policy). */

export const POLICY_DEFAULTS = { replaceAfterMinutes: 10, replaceAtMostEveryHours: 24 } as const;

const MAX_SPARES = 10;
const DAY_MINUTES = 24 * 60;
const MONTH_HOURS = 30 * 24;

const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d$/;
const timeOfDay = z.string().regex(TIME_OF_DAY);

/** A daily window in UTC; without both times, any time. */
export const renewWindowSchema = z.object({
  from: timeOfDay.optional().meta({ description: 'Start of the daily window, as HH:MM in UTC.' }),
  to: timeOfDay
    .optional()
    .meta({ description: 'End of the daily window; before the start, it is the next day.' }),
});
export type RenewWindow = z.infer<typeof renewWindowSchema>;

/** Returns the minutes since midnight of a time as HH:MM. */
export const minutesOfDay = (time: string): number => {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
};

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
  autoRenew: renewWindowSchema.optional().meta({
    description: 'Renews certificates that end within 30 days; {} means at any time of the day.',
  }),
  inferDestructive: z.boolean().optional().meta({
    description:
      'Starts an edit that removes hosts without the operation annotation, like one that adds hosts; default false.',
  }),
});
