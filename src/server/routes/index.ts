import { callbackRoutes } from './callbacks.ts';
import { clusterRoutes } from './clusters.ts';
import { createRoutes } from './create.ts';
import { deleteRoutes } from './delete.ts';
import { hostRoutes } from './hosts.ts';
import { jobLogRoutes } from './job-log.ts';
import { kubeconfigRoutes } from './kubeconfig.ts';
import { logRoutes } from './logs.ts';
import { operationRoutes } from './operations.ts';
import type { JobRoutes, Routes } from './room.ts';
import { unofferedRoutes } from './unoffered.ts';

/** Routes for people; their schemas are in `src/rest`. */
export const routes: readonly Routes[] = [
  createRoutes,
  deleteRoutes,
  operationRoutes,
  logRoutes,
  clusterRoutes,
  kubeconfigRoutes,
  hostRoutes,
  unofferedRoutes,
];

/** Routes that only the pods of attempts may call; the callbacks are the original's. */
export const lenientJobRoutes: readonly JobRoutes[] = [callbackRoutes];
export const jobRoutes: readonly JobRoutes[] = [jobLogRoutes];
