/** The routes of the REST API, for users and for Jobs. Their schemas are in `src/rest`. */

import type { FastifyInstance } from 'fastify';
import type { JobApp } from './auth/route-deps.ts';
import { clusterRoutes } from './clusters/cluster-routes.ts';
import { createRoutes } from './clusters/create-routes.ts';
import { deleteRoutes } from './clusters/delete-routes.ts';
import { historyRoutes } from './clusters/history-routes.ts';
import { hostRoutes } from './clusters/host-routes.ts';
import { kubeconfigRoutes } from './clusters/kubeconfig-routes.ts';
import { operationRoutes } from './clusters/operation-routes.ts';
import { steeringRoutes } from './clusters/steering-routes.ts';
import { watchRoutes } from './clusters/watch-routes.ts';
import { callbackRoutes } from './jobs/callback-routes.ts';
import { type JobLogDeps, jobLogRoutes } from './logs/job-log-routes.ts';
import { type LogDeps, logRoutes } from './logs/log-routes.ts';
import { operationEventRoutes } from './logs/operation-event-routes.ts';

/** Routes for users. */
export const routes: readonly ((app: FastifyInstance, deps: LogDeps) => void)[] = [
  createRoutes,
  deleteRoutes,
  operationRoutes,
  steeringRoutes,
  logRoutes,
  clusterRoutes,
  kubeconfigRoutes,
  hostRoutes,
  historyRoutes,
  watchRoutes,
  operationEventRoutes,
];

/** Routes that only the pods of attempts may call; the callbacks are those of kubernetes-operator. */
export const lenientJobRoutes: readonly ((app: JobApp, deps: JobLogDeps) => void)[] = [callbackRoutes];
export const jobRoutes: readonly ((app: JobApp, deps: JobLogDeps) => void)[] = [jobLogRoutes];
