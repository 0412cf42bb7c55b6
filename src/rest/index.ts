import { createCluster, deleteCluster, scaleDown, scaleUp } from './asking.ts';
import { getCluster, getKubeconfig, getLogs, listClusters } from './looking.ts';
import type { Route } from './route.ts';

/** Every route for people. */
export const routes: readonly Route[] = [
  createCluster,
  deleteCluster,
  scaleUp,
  scaleDown,
  getCluster,
  listClusters,
  getLogs,
  getKubeconfig,
];
