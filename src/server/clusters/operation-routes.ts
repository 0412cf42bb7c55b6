import { z } from 'zod';
import { secretUseOf } from '#access/access.ts';
import { hostRecordsOf, remainsFor } from '#access/host-records.ts';
import { onClusters, onHooks, onKubeconfig } from '#access/permissions.ts';
import { presentSpec } from '#api/cluster-facts.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { mergeLists } from '#operations/merge-host-lists.ts';
import type { Operation } from '#operations/operation.ts';
import { planFor, restoreIn } from '#operations/plan-for.ts';
import { addressed, agreedPlan, hostsSchema } from '#rest/addressing.ts';
import { ok } from '#rest/answers.ts';
import { routesOfOperations } from '#rest/asking.ts';
import type { PeopleDeps, PeopleRoutes } from '../auth/route-deps.ts';
import { addressOf } from '../http/address.ts';
import { unprocessable } from '../http/errors.ts';
import { repeatableRequestId, wasAsked } from '../http/idempotency.ts';
import { refuseOtherVersion } from '../http/if-match.ts';
import { serve } from '../http/serve.ts';
import { lastSequence, otherPlanRefusals, refuseOtherPlan } from './agreed.ts';
import { limitRefusals, refuseBeyondLimits } from './limits.ts';
import { heldByOthers, planAnswer } from './plan-answer.ts';
import { answerAccepted, busyRefusals, clusterIn, judgeAndAsk, refuseBusy } from './requests.ts';
import { spelledFor } from './spelling.ts';

/** Type of the fields that the bodies of all operations may have. The route has validated them and those of the operation. */
const commonBody = z.object({
  ...addressed,
  ...agreedPlan,
  masterList: hostsSchema.optional(),
  nodeList: hostsSchema.optional(),
  etcdList: hostsSchema.optional(),
  retry: z.boolean().optional(),
});

type CommonBody = z.infer<typeof commonBody>;

/** Returns the cluster as a body wants it, and the plan for it. Throws HttpError 422 with all problems of the body. */
async function judged(
  operation: Operation,
  cluster: KubernetesCluster,
  { given, body, isPlanReported }: { given: object; body: CommonBody; isPlanReported: boolean },
  deps: PeopleDeps,
) {
  const { client, namespace, offer } = deps;
  const { request } = operation;
  if (!request) throw new Error(`operation ${operation.name} is asked for by no route of its own`);
  const { lists, problems: merging, placed } = mergeLists(body);
  if (merging.length > 0) throw unprocessable(merging);
  const hosts = await hostRecordsOf(client, namespace, cluster);
  const applied = presentSpec(cluster, hosts);
  const {
    change,
    addons,
    annotations: more,
    problems,
  } = request.edit({ spec: cluster.spec, applied }, { ...given, ...lists });
  const spec = {
    ...cluster.spec,
    cluster: { ...cluster.spec.cluster, ...change },
    ...(addons === undefined ? {} : { addons: { ...cluster.spec.addons, ...addons } }),
  };
  const version = cluster.status?.version;
  const clusterId = cluster.metadata.annotations?.[annotations.clusterId];
  // They change only the answer and its hash, never whether the operation is allowed.
  const remains = isPlanReported
    ? await remainsFor(client, namespace, { spec, hosts, clusterId })
    : undefined;
  const plan = planFor(operation, {
    ...{ spec, applied, hosts, remains, offer, version },
    restore: restoreIn(cluster, more),
    requests: cluster.status?.requests,
  });
  const spelled = spelledFor(spec, placed, request.names);
  if (problems.length > 0) throw unprocessable(problems.map(spelled));
  // If status was lost, the applied spec has the version.
  const from = version ?? applied?.cluster.kubeVersion;
  return { asked: { change, addons, annotations: more }, plan, spelled, next: { spec }, from };
}

/** Adds the routes of operations, each generated from the operation's descriptor. */
export const operationRoutes: PeopleRoutes = (app, deps) => {
  for (const { operation, route } of routesOfOperations) {
    serve(app, route, async ({ params, query, body: given, person, headers }, reply) => {
      const { client, auth } = deps;
      const body = commonBody.parse(given);
      const { region, ...key } = addressOf({ params, query, body });
      await auth.allow(person, onClusters('update', key.namespace, key.name));
      if (operation.needsKubeconfig) await auth.allow(person, onKubeconfig(key.namespace, key.name));
      const judge = async (cluster: KubernetesCluster) => {
        refuseOtherVersion(headers, cluster);
        await auth.allowSecret(person, secretUseOf(cluster, key.namespace));
        for (const permission of onHooks(cluster.spec, key)) await auth.allow(person, permission);
        const isPlanReported = query.dryRun !== undefined || body.plan !== undefined;
        return judged(operation, cluster, { given, body, isPlanReported }, deps);
      };
      if (query.dryRun) {
        const cluster = await clusterIn(client, region, key);
        const { plan, spelled, next, from } = await judge(cluster);
        const id = cluster.metadata.annotations?.[annotations.clusterId];
        const more = [
          ...busyRefusals(cluster, body.retry ?? false),
          ...otherPlanRefusals(body.plan, operation, plan, cluster),
          ...(await heldByOthers(deps, person, plan, id)),
          ...(await limitRefusals(deps, { ...key, old: cluster, next })),
        ];
        const after = lastSequence(cluster);
        return {
          ...ok(),
          plan: planAnswer(operation, plan, { more, spelled, after, from }),
        };
      }
      const word = operation.values.asked;
      const repeatable = repeatableRequestId(headers, person, given ?? {});
      const written = await judgeAndAsk(
        client,
        () => clusterIn(client, region, key),
        async (cluster) => {
          if (repeatable !== undefined && wasAsked(cluster, repeatable, word)) return undefined;
          const { asked, plan, spelled, next } = await judge(cluster);
          refuseBusy(cluster, body.retry ?? false);
          if (plan.refusals.length > 0) throw unprocessable(plan.refusals.map(spelled));
          await refuseBeyondLimits(deps, { ...key, old: cluster, next }, spelled);
          refuseOtherPlan(body.plan, operation, plan, cluster);
          return { word, person, ...asked, plan: body.plan, requestId: repeatable };
        },
      );
      const isNew = written !== undefined;
      return answerAccepted(reply, headers, { region, ...key }, written ?? repeatable, isNew);
    });
  }
};
