/**
 * Describes the routes of the REST API as data. The server, the typed client and the OpenAPI document use these
 * descriptions.
 */

import { createCluster, deleteCluster, routesOfOperations } from './asking.ts';
import { watchClusters, watchOperation } from './events.ts';
import { getOperation, getOperationLog, listOperations } from './history.ts';
import { listClusterHosts, listHosts } from './hosts.ts';
import { getCluster, getKubeconfig, getLogs, listClusters, listSnapshots } from './read-routes.ts';
import type { Route } from './route.ts';
import { approvePlan, cancelOperation, pauseCluster, resumeCluster } from './steering.ts';

/** Routes for users. */
export const routes: readonly Route[] = [
  createCluster,
  deleteCluster,
  ...routesOfOperations.map(({ route }) => route),
  cancelOperation,
  approvePlan,
  pauseCluster,
  resumeCluster,
  getCluster,
  listSnapshots,
  listClusters,
  getLogs,
  getKubeconfig,
  listHosts,
  listClusterHosts,
  listOperations,
  getOperation,
  getOperationLog,
  watchClusters,
  watchOperation,
];
