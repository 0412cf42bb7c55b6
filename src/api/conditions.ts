import { z } from 'zod';

/** metav1.Condition, and the functions that change a list of them. */
export const conditionSchema = z.object({
  type: z.string().max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024),
  message: z.string().max(32_768),
  lastTransitionTime: z.string().max(64),
  observedGeneration: z.int().exactOptional(),
});

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** A condition without the fields that `withCondition` maintains: time and generation. */
export type Stated = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/**
 * Returns the list with `stated` in it. `lastTransitionTime` changes only with the status, as in
 * k8s.io/apimachinery/pkg/api/meta.SetStatusCondition; equal input gives an equal list.
 */
export function withCondition(
  list: readonly Condition[],
  stated: Stated,
  now: Date,
  observedGeneration?: number,
): Condition[] {
  const old = list.find((condition) => condition.type === stated.type);
  const next: Condition = {
    ...stated,
    lastTransitionTime: old?.status === stated.status ? old.lastTransitionTime : now.toISOString(),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  };
  return old ? list.map((condition) => (condition === old ? next : condition)) : [...list, next];
}

export function withoutCondition(list: readonly Condition[], type: string): Condition[] {
  return list.filter((condition) => condition.type !== type);
}

export function findCondition(list: readonly Condition[] | undefined, type: string): Condition | undefined {
  return list?.find((condition) => condition.type === type);
}
