import { z } from 'zod';
import { canonicalIp, type HostEntry, LISTS, type ListName } from '#api/host.ts';
import type { OperationName } from '#api/operation-values.ts';
import { createCluster, deleteCluster, routesOfOperations } from '#rest/asking.ts';
import type { PlanAnswer } from '#rest/plan.ts';
import { type AskingRoute, type Danger, request } from './ask.ts';
import { type Cluster, clusterNamed } from './clusters.ts';
import { CommandFailure, EXIT, type Flags, wrongUse } from './failure.ts';
import type { Io } from './io.ts';
import type { requestOptions } from './options.ts';
import { withSession } from './session.ts';

type Options = z.output<z.ZodObject<typeof requestOptions>>;

/** An operation that a command requests, with the body of the request. */
interface Change {
  operation: OperationName;
  body?: Readonly<Record<string, unknown>>;
  flags?: Flags;
  does?: string;
  danger?: Danger | undefined;
}

function routeOf(operation: OperationName): AskingRoute {
  if (operation === 'create') return createCluster;
  if (operation === 'delete') return deleteCluster;
  const found = routesOfOperations.find((one) => one.operation.name === operation);
  if (!found) throw new Error(`operation ${operation} has no route`);
  return found.route;
}

/** Requests the operation that `change` returns for the present cluster. */
export function changeCluster(
  name: string,
  options: Options,
  io: Io,
  change: (cluster: Cluster) => Change,
): Promise<void> {
  return withSession(options, async (session) => {
    const { cluster, address } = await clusterNamed(session, name);
    const { operation, body = {}, ...more } = change(cluster);
    // A deletion without retry joins the one that runs, or that has failed.
    const before = 'retry' in body ? cluster.status.operation?.id : undefined;
    const subject = { uid: cluster.metadata.uid, before, isPaused: cluster.spec.paused === true };
    await request(session, io, { name, route: routeOf(operation), address, body, ...more, subject }, options);
  });
}

/** Reads a comma-separated list of addresses. */
export function hostsOf(text: string | undefined, flag: string): HostEntry[] {
  const addresses = (text ?? '').split(',').map((part) => part.trim());
  return addresses
    .filter((address) => address !== '')
    .map((address) => {
      if (canonicalIp(address) === undefined)
        throw wrongUse(`${flag}: ${address} is not an IP address; write it like 192.0.2.13`);
      return { ip: address };
    });
}

const FLAG_OF = {
  masterList: '--add-control-planes',
  nodeList: '--add-workers',
  etcdList: '--add-etcd',
} as const satisfies Record<ListName, string>;

export interface Scale {
  addWorkers?: string | undefined;
  addControlPlanes?: string | undefined;
  addEtcd?: string | undefined;
  remove?: string | undefined;
}

/** Returns the scale-up or scale-down that adds or removes hosts. Throws CommandFailure if it is neither, or both. */
export function scaleOf({ metadata: { name }, spec }: Cluster, scale: Scale): Change {
  const { cluster } = spec;
  const added = {
    masterList: hostsOf(scale.addControlPlanes, FLAG_OF.masterList),
    nodeList: hostsOf(scale.addWorkers, FLAG_OF.nodeList),
    etcdList: hostsOf(scale.addEtcd, FLAG_OF.etcdList),
  };
  const removed = hostsOf(scale.remove, '--remove').map(({ ip }) => canonicalIp(ip) ?? ip);
  const isAdding = LISTS.some((list) => added[list].length > 0);
  if (isAdding && removed.length > 0)
    throw wrongUse('hosts are added and removed by two operations; ask for one, and then for the other');
  if (isAdding) {
    const lists = LISTS.filter((list) => added[list].length > 0);
    for (const list of lists)
      for (const { ip } of added[list])
        if (cluster[list].some((host) => canonicalIp(host.ip) === canonicalIp(ip)))
          throw wrongUse(`${FLAG_OF[list]}: ${ip} is in the list of cluster ${name} already`);
    const body = Object.fromEntries(lists.map((list) => [list, [...cluster[list], ...added[list]]]));
    // A problem of a present host is not one of the flag.
    const places = lists.flatMap((list) =>
      added[list].map((_host, index) => [`${list}[${cluster[list].length + index}]`, FLAG_OF[list]]),
    );
    const does = `add ${lists.flatMap((list) => added[list].map(({ ip }) => ip)).join(', ')}`;
    return { operation: 'scale-up', body, flags: Object.fromEntries(places), does };
  }
  if (removed.length === 0)
    throw wrongUse(
      'there is no host; name some with --add-workers, --add-control-planes, --add-etcd or --remove',
    );
  const stays = ({ ip }: HostEntry): boolean => !removed.includes(canonicalIp(ip) ?? ip);
  const unknown = removed.find(
    (ip) => !LISTS.some((list) => cluster[list].some((host) => canonicalIp(host.ip) === ip)),
  );
  if (unknown !== undefined) throw wrongUse(`--remove: ${unknown} is not a host of cluster ${name}`);
  if (!cluster.masterList.some(stays))
    throw wrongUse(
      `--remove: cluster ${name} would have no control plane; "matryoshka delete ${name}" deletes it`,
    );
  const shrinking = LISTS.filter((list) => !cluster[list].every(stays));
  return {
    operation: 'scale-down',
    body: {
      ...Object.fromEntries(shrinking.map((list) => [list, cluster[list].filter(stays)])),
      ...(shrinking.includes('nodeList') && !cluster.nodeList.some(stays) ? { allowEmpty: true } : {}),
    },
    does: `remove ${removed.join(', ')}`,
    danger: (plan) => removalDanger(name, removed, plan),
  };
}

/** Returns what a removal loses. A host that never joined is not in the plan. */
function removalDanger(name: string, removed: readonly string[], plan: PlanAnswer | undefined): string {
  const planned = plan?.hosts.filter(({ action }) => action === 'leave').map(({ ip }) => ip) ?? removed;
  const leaving = removed.filter((ip) => planned.includes(ip));
  const others = removed.filter((ip) => !planned.includes(ip));
  return [
    leaving.length > 0 && `${leaving.join(', ')} will be drained, removed from cluster ${name} and reset`,
    others.length > 0 && `${others.join(', ')} will be taken off the list of cluster ${name}, without a run`,
  ]
    .filter(Boolean)
    .join('; ');
}

/** Losses by the retry of an operation. */
const RETRY_DANGER: Readonly<Partial<Record<OperationName, (name: string) => string>>> = {
  delete: deletionDanger,
  'scale-down': (name) => `the hosts that leave cluster ${name} will be drained, removed and reset`,
  replace: (name) => `the host that is replaced will be removed from cluster ${name} and reset`,
  restore: (name) =>
    `everything that was written to the API of cluster ${name} since the snapshot will be lost`,
};

/** Returns what a deletion loses. */
export function deletionDanger(name: string): string {
  return `cluster ${name} will be deleted, and its hosts will be reset with all data of the cluster`;
}

/** Returns the retry of the operation that failed last. */
export function retryOf({ metadata: { name }, status }: Cluster): Change {
  const operation = z.string().safeParse(status.operation?.name);
  const failed = routesOfOperations.map((one) => one.operation.name).find((one) => one === operation.data);
  const known = operation.data === 'create' || operation.data === 'delete' ? operation.data : failed;
  if (known === undefined || status.operation?.result === 'finished')
    throw new CommandFailure(`the last operation of cluster ${name} has not failed`, EXIT.refused);
  return { operation: known, body: { retry: true }, danger: RETRY_DANGER[known]?.(name) };
}
