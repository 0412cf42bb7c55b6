import { z } from 'zod';

/** The most hosts of a cluster. */
const MAX_HOSTS = 1000;

/** Settings for the upgrade of workers: `spec.cluster.upgrade`. */
export const upgradeSchema = z.object({
  maxUnavailable: z.int().min(1).max(MAX_HOSTS).optional().meta({
    description:
      'Number of workers that are upgraded at once, and of kubelets that a rotation restarts; default 1.',
  }),
  drainWorkers: z.boolean().optional().meta({
    description: 'Whether workers are drained before their upgrade, as drain says; default true.',
  }),
});
export type Upgrade = z.infer<typeof upgradeSchema>;
