import type { Node, Service } from '#api/core.ts';
import type { LocalService, LocalServiceSpec } from './api.ts';
import { plainName, serviceNames } from './names.ts';
import { isAsWanted, mustBeMadeAnew, wantedService } from './service.ts';

/** Writes that give each node its Service, and the reasons why some nodes have none. */
export interface ServicePlan {
  create: readonly Service[];
  change: readonly { there: Service; wanted: Service }[];
  remove: readonly Service[];
  /** Number of nodes whose Service exists and is as wanted. */
  served: number;
  /** Number of nodes whose Service is deleted first and created again. */
  anew: number;
  /** Names that belong to other Services, by node. */
  taken: readonly { node: string; service: string }[];
  /** Nodes whose Service has a name with a hash. */
  shortened: readonly { node: string; service: string }[];
}

/** Objects in the caches. */
export interface Seen {
  nodes: readonly Node[];
  /** Services that the LocalService controls. */
  mine: readonly Service[];
  serviceNamed(name: string): Service | undefined;
}

const controllerOf = ({ metadata }: Service) =>
  metadata.ownerReferences?.find(({ controller }) => controller);
const isOf = (service: Service, local: LocalService): boolean =>
  controllerOf(service)?.uid === local.metadata.uid;

/** Spec for which a Service was found to be as wanted. Cached objects never change, so the result stays valid. */
const found = new WeakMap<Service, LocalServiceSpec>();

function isRight(local: LocalService, node: string, there: Service): boolean {
  if (found.get(there) === local.spec) return true;
  const isSo = isAsWanted(there, wantedService(local, node, there.metadata.name ?? ''));
  if (isSo) found.set(there, local.spec);
  return isSo;
}

/** Plans one Service for each node that matches, and skips names of Services that belong to others. Pure. */
export function planServices(local: LocalService, seen: Seen): ServicePlan {
  const plan = {
    create: [] as Service[],
    change: [] as { there: Service; wanted: Service }[],
    remove: [] as Service[],
    taken: [] as { node: string; service: string }[],
    shortened: [] as { node: string; service: string }[],
    served: 0,
    anew: 0,
  };
  const { name = '' } = local.metadata;
  const names = serviceNames(name, {
    nodes: seen.nodes,
    mine: seen.mine,
    isAnothers(service) {
      const there = seen.serviceNamed(service);
      return there !== undefined && !isOf(there, local) && controllerOf(there)?.kind === local.kind;
    },
  });
  const kept = new Set<string>();
  for (const [node, service] of names) {
    const there = seen.serviceNamed(service);
    kept.add(service);
    if (service !== plainName(name, node)) plan.shortened.push({ node, service });
    if (there && isOf(there, local) && isRight(local, node, there)) {
      plan.served += 1;
      continue;
    }
    const wanted = wantedService(local, node, service);
    if (!there) plan.create.push(wanted);
    else if (!isOf(there, local)) plan.taken.push({ node, service });
    else if (!mustBeMadeAnew(there, wanted)) plan.change.push({ there, wanted });
    else {
      plan.remove.push(there);
      plan.anew += 1;
    }
  }
  plan.remove.push(...seen.mine.filter(({ metadata }) => !kept.has(metadata.name ?? '')));
  return plan;
}
