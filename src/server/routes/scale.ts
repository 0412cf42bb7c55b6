import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { secretUseOf } from '#access/access.ts';
import { onClusters } from '#access/deeds.ts';
import { hostRecordsOf } from '#access/host-records.ts';
import { presentSpec } from '#api/cluster-facts.ts';
import { canonicalIp, type HostEntry } from '#api/host.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { WORDS } from '#api/words.ts';
import type { Problem } from '#base/errors.ts';
import type { Operation } from '#operations/operation.ts';
import { planOf } from '#operations/plan.ts';
import { scaleDown as scaleDownOperation } from '#operations/scale-down.ts';
import { scaleUp as scaleUpOperation } from '#operations/scale-up.ts';
import { ok } from '#rest/answers.ts';
import { type ScaleBody, scaleDown, scaleUp } from '#rest/asking.ts';
import { addressOf } from '../address.ts';
import { unprocessable } from '../errors.ts';
import { laidOver, mergeLists } from '../hosts.ts';
import { asSpelledByRest } from '../problems.ts';
import { clusterIn, judgeAndAsk, locationOf, refuseBusy } from '../requests.ts';
import type { Room, Routes } from './room.ts';
import { type Asked, serve } from './serve.ts';

const addresses = (hosts: readonly HostEntry[] | undefined): string[] =>
  (hosts ?? []).map(({ ip }) => canonicalIp(ip) ?? ip);

/** What only this request can be wrong about: the rest the operation's own checks say. */
function listProblems(
  operation: Operation,
  list: readonly HostEntry[],
  { present, allowEmpty }: { present: readonly string[]; allowEmpty: boolean },
): Problem[] {
  if (operation.name !== 'scale-down') return [];
  const kept = new Set(addresses(list));
  if (list.length === 0 && !allowEmpty) {
    return [{ field: 'nodeList', reason: 'is empty; "allowEmpty": true removes every worker' }];
  }
  return present.every((ip) => kept.has(ip))
    ? [{ field: 'nodeList', reason: 'names every present host; leave out those that shall go' }]
    : [];
}

/** The spec of the cluster with the new list, or HttpError 422 with what forbids it. */
function scaled(
  operation: Operation,
  cluster: KubernetesCluster,
  hosts: readonly HostRecord[],
  body: ScaleBody,
  { offer }: Room,
): Spec {
  const { lists, problems, placed } = mergeLists({ nodeList: body.nodeList });
  if (problems.length > 0) throw unprocessable(problems);
  const applied = presentSpec(cluster, hosts);
  const now = cluster.spec.cluster.nodeList;
  const wanted = lists.nodeList ? laidOver(now ?? applied?.cluster.nodeList, lists.nodeList) : (now ?? []);
  const spec: Spec = { ...cluster.spec, cluster: { ...cluster.spec.cluster, nodeList: wanted } };
  // A scale-up that failed may have taken hosts that only the object names: those can go as well.
  const present = [...new Set([...addresses(applied?.cluster.nodeList), ...addresses(now)])];
  // A retry repeats what the object says already, so its list need not shrink again.
  const repeated = body.retry === true && lists.nodeList === undefined;
  const found = [
    ...(applied && !repeated
      ? listProblems(operation, wanted, { present, allowEmpty: body.allowEmpty ?? false })
      : []),
    ...planOf(operation, { spec, applied, hosts, offer, version: cluster.status?.version }).refusals,
  ];
  if (found.length > 0) throw unprocessable(found.map((problem) => placed(asSpelledByRest(problem))));
  return spec;
}

type Params = z.output<typeof scaleUp.params>;
type Query = z.output<typeof scaleUp.query>;

const handlerOf =
  (operation: Operation, room: Room) =>
  async ({ params, query, body, person }: Asked<Params, Query, ScaleBody>, reply: FastifyReply) => {
    const { region, ...key } = addressOf({ params, query, body });
    if (body.nodeList === undefined && !body.retry) {
      throw unprocessable([{ field: 'nodeList', reason: 'is required: the whole new list of workers' }]);
    }
    await room.auth.allow(person, onClusters('update', key.namespace, key.name));
    await judgeAndAsk(
      room.client,
      () => clusterIn(room.client, region, key),
      async (cluster) => {
        await room.auth.allowSecret(person, secretUseOf(cluster, key.namespace));
        const hosts = await hostRecordsOf(room.client, room.namespace, cluster);
        refuseBusy(cluster, body.retry ?? false);
        const { nodeList: list } = scaled(operation, cluster, hosts, body, room).cluster;
        const change = list === undefined ? {} : { nodeList: list };
        return { word: WORDS[operation.name].asked, person, change };
      },
    );
    reply.header('location', locationOf(region, key));
    return ok();
  };

export const scaleRoutes: Routes = (app, room) => {
  serve(app, scaleUp, handlerOf(scaleUpOperation, room));
  serve(app, scaleDown, handlerOf(scaleDownOperation, room));
};
