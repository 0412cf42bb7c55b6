import { z } from 'zod';
import { HOOK_TIMES, hookKey } from '#api/hooks.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import type { OperationName } from '#api/operation-values.ts';
import { pinnedFileSchema } from '#api/pinned-file.ts';
import type { Problem } from '#base/errors.ts';
import type { Offer } from './resolve.ts';

/** A user's own playbooks (`spec.hooks`): which ones an operation runs, and when. */

const FIELD = 'spec.hooks';

/** A hook of a plan. */
export const plannedHookSchema = pinnedFileSchema.extend({
  time: z.enum(HOOK_TIMES),
  /** The place of the hook below `spec.hooks`: `preCreate[0]`. */
  name: z.string(),
});
export type PlannedHook = z.infer<typeof plannedHookSchema>;

/** Returns the place of a hook in the spec. */
export const hookField = ({ name }: Pick<PlannedHook, 'name'>): string => `${FIELD}.${name}`;

/** Returns the step name of a hook for status and plans. */
export const hookStep = ({ name }: Pick<PlannedHook, 'name'>): string => `Hook ${name}`;

/** Returns the hooks of an operation in their order: first those before its run. */
export const hooksOf = (operation: OperationName, { hooks }: Pick<Spec, 'hooks'>): PlannedHook[] =>
  HOOK_TIMES.flatMap((time) => {
    const key = hookKey(time, operation);
    return (hooks?.[key] ?? []).map((file, index) => ({ ...file, time, name: `${key}[${index}]` }));
  });

const hasHooks = ({ hooks }: Pick<Spec, 'hooks'>): boolean =>
  Object.values(hooks ?? {}).some((list) => (list ?? []).length > 0);

/** Refuses a spec with hooks if the installation does not run any. */
export const hookProblems = (spec: Spec, { hooks }: Offer): Problem[] =>
  hasHooks(spec) && hooks !== true
    ? [
        {
          field: FIELD,
          reason:
            'is off in this installation; leave it out, or start controller, server and webhook with --allow-hooks',
        },
      ]
    : [];

/** Returns warnings about hooks for the approval of a plan. */
export const hookWarnings = (hooks: readonly PlannedHook[]): Problem[] =>
  hooks.map((hook) => ({
    field: hookField(hook),
    reason: `runs key ${hook.key} of ConfigMap ${hook.configMap} as root on hosts of the plan`,
  }));
