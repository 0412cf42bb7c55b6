import { callbackRoutes } from './callbacks.ts';
import { clusterRoutes } from './clusters.ts';
import { createRoutes } from './create.ts';
import { deleteRoutes } from './delete.ts';
import { jobLogRoutes } from './job-log.ts';
import { kubeconfigRoutes } from './kubeconfig.ts';
import { logRoutes } from './logs.ts';
import type { JobRoutes, Routes } from './room.ts';
import { scaleRoutes } from './scale.ts';
import { unofferedRoutes } from './unoffered.ts';

/** Routes of the original, and those that are refused in any case: bodies are read leniently. */
export const originalRoutes: readonly Routes[] = [
  createRoutes,
  deleteRoutes,
  scaleRoutes,
  logRoutes,
  unofferedRoutes,
];

/** Routes of ours: strict. */
export const newRoutes: readonly Routes[] = [clusterRoutes, kubeconfigRoutes];

/** Routes that only the pods of attempts may call; the callbacks are the original's. */
export const lenientJobRoutes: readonly JobRoutes[] = [callbackRoutes];
export const jobRoutes: readonly JobRoutes[] = [jobLogRoutes];
