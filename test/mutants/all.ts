import type { Mutant } from './mutant.ts';
import { ofAddons } from './of-addons.ts';
import { ofCancelAndPlans } from './of-cancel-and-plans.ts';
import { ofControlPlanes } from './of-control-planes.ts';
import { ofEtcd } from './of-etcd.ts';
import { ofHealth } from './of-health.ts';
import { ofHooks } from './of-hooks.ts';
import { ofHosts } from './of-hosts.ts';
import { ofIngress } from './of-ingress.ts';
import { ofItsEdges } from './of-its-edges.ts';
import { ofKeys } from './of-keys.ts';
import { ofLostData } from './of-lost-data.ts';
import { ofMachines } from './of-machines.ts';
import { ofNetworks } from './of-networks.ts';
import { ofOperations } from './of-operations.ts';
import { ofRemediation } from './of-remediation.ts';
import { ofRequests } from './of-requests.ts';
import { ofTheController } from './of-the-controller.ts';
import { ofTheQueue } from './of-the-queue.ts';
import { ofUpgrades } from './of-upgrades.ts';

/** The mutants of each file of this folder. */
export const lists: Readonly<Record<string, readonly Mutant[]>> = {
  'of-the-controller': ofTheController,
  'of-hosts': ofHosts,
  'of-its-edges': ofItsEdges,
  'of-machines': ofMachines,
  'of-requests': ofRequests,
  'of-control-planes': ofControlPlanes,
  'of-etcd': ofEtcd,
  'of-operations': ofOperations,
  'of-keys': ofKeys,
  'of-lost-data': ofLostData,
  'of-upgrades': ofUpgrades,
  'of-health': ofHealth,
  'of-cancel-and-plans': ofCancelAndPlans,
  'of-hooks': ofHooks,
  'of-the-queue': ofTheQueue,
  'of-ingress': ofIngress,
  'of-remediation': ofRemediation,
  'of-networks': ofNetworks,
  'of-addons': ofAddons,
};

/** Every mutant that `make mutants` tests. */
export const mutants: readonly Mutant[] = Object.values(lists).flat();
