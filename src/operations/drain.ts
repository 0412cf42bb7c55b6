import { drainSchema } from '#api/drain.ts';
import { DEFAULTS, type Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import type { Step } from '#protocol/run-spec.ts';

/** The drain of nodes that leave (`spec.cluster.drain`): its step, and warnings about it. */

export const DRAIN_NODES = 'Drain and remove nodes';
/** It drains a worker before its upgrade, if `spec.cluster.upgrade.drainWorkers` is not false. */
export const UPGRADE_WORKERS = 'Upgrade workers';

const FIELD = 'spec.cluster.drain';
type Settings = Pick<Spec, 'cluster'>;

/** The field of a request that removes hosts. */
export const drainField = drainSchema.optional().meta({
  description: 'How their nodes are drained; left out: as the cluster has it, or as kubectl does it.',
});

export const drains = (steps: readonly Pick<Step, 'name'>[], { cluster }: Settings): boolean =>
  steps.some(
    ({ name }) =>
      name === DRAIN_NODES || (name === UPGRADE_WORKERS && cluster.upgrade?.drainWorkers !== false),
  );

export const upgradesWorkers = (steps: readonly Pick<Step, 'name'>[]): boolean =>
  steps.some(({ name }) => name === UPGRADE_WORKERS);

/** Refuses a drain timeout longer than the operation's: the operation would always interrupt the drain. */
export function drainProblems({ cluster: { drain, timeout_mins } }: Settings): Problem[] {
  const seconds = drain?.timeoutSeconds ?? 0;
  const minutes = Number(timeout_mins ?? DEFAULTS.timeoutMinutes);
  if (seconds < minutes * 60) return [];
  const reason = `is not less than the ${minutes} minutes of timeout_mins, in which the whole operation must end; lower it, or raise timeout_mins`;
  return [{ field: `${FIELD}.timeoutSeconds`, value: seconds, reason }];
}

/** Returns warnings for the approval of a plan: data that may be lost with drained nodes. */
export function drainWarnings(spec: Settings, steps: readonly Step[]): Problem[] {
  if (!drains(steps, spec)) return [];
  const { drain } = spec.cluster;
  const reported: Problem[] = [];
  if (drain?.force === true)
    reported.push({
      field: `${FIELD}.force`,
      reason: 'pods without a controller on drained nodes are deleted, and nothing creates them again',
    });
  if (drain?.deleteEmptyDirData === true)
    reported.push({
      field: `${FIELD}.deleteEmptyDirData`,
      reason: 'data in emptyDir volumes of pods on drained nodes is deleted',
    });
  return reported;
}
