import { hostRecordsOf } from '#access/host-records.ts';
import { onClusters } from '#access/permissions.ts';
import { operationUnderWay, presentSpec } from '#api/cluster-facts.ts';
import { deletedByOf } from '#api/deleter.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import { messageOf, type Problem } from '#base/errors.ts';
import { remove } from '#operations/delete.ts';
import { planFor } from '#operations/plan-for.ts';
import { ok } from '#rest/answers.ts';
import { deleteCluster } from '#rest/asking.ts';
import { isConflict, isNotFound, isUncertain } from '#runtime/wire/api-error.ts';
import type { PeopleRoutes } from '../auth/route-deps.ts';
import { addressOf } from '../http/address.ts';
import { conflict, notFound } from '../http/errors.ts';
import { changedMeanwhile, refuseOtherVersion, versionToWrite } from '../http/if-match.ts';
import { serve } from '../http/serve.ts';
import { lastSequence, otherPlanRefusals, refuseOtherPlan } from './agreed.ts';
import { planAnswer } from './plan-answer.ts';
import { answerAccepted, byWhom, clusterIn, judgeAndAsk, keyOf } from './requests.ts';

/** Refuses to retry a deletion that is running. */
function runningRefusals(cluster: KubernetesCluster): Problem[] {
  const running = operationUnderWay(cluster);
  return running ? [{ field: 'retry', value: true, reason: `is too early: ${running.word} is running` }] : [];
}

export const deleteRoutes: PeopleRoutes = (app, { client, clock, log, auth, namespace: own, offer }) => {
  /**
   * Records the user, then deletes; the controller ignores the record if no DELETE follows. If the request names a version,
   * both writes must find it.
   */
  async function deleteFor(user: string, cluster: KubernetesCluster, version: string | undefined) {
    const { uid } = cluster.metadata;
    const key = keyOf(cluster);
    const note = async (text: string | null, resourceVersion?: string) => {
      const patch = { metadata: { uid, resourceVersion, annotations: { [annotations.deletedBy]: text } } };
      try {
        return await client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, key, patch, { type: 'merge' });
      } catch (error) {
        if (isConflict(error) && resourceVersion !== undefined) throw changedMeanwhile();
        // A deletion does not pass the webhook: it must not depend on a webhook that is away.
        log.warn({ ...key, error: messageOf(error) }, 'the user of a deletion is not recorded');
        return undefined;
      }
    };
    const noted = await note(deletedByOf(user, clock.now()), version);
    const resourceVersion = version === undefined ? undefined : (noted?.metadata.resourceVersion ?? version);
    try {
      await client.delete(KUBERNETES_CLUSTERS, key, { preconditions: { uid, resourceVersion } });
    } catch (error) {
      if (!isUncertain(error) && !isNotFound(error)) await note(null);
      if (isConflict(error) && version !== undefined) throw changedMeanwhile();
      throw error;
    }
  }

  serve(app, deleteCluster, async ({ params, query, body = {}, person, headers }, reply) => {
    const { region, ...key } = addressOf({ params, query, body });
    await auth.allow(person, onClusters('delete', key.namespace, key.name));
    const cluster = await clusterIn(client, region, key);
    refuseOtherVersion(headers, cluster);
    const version = cluster.status?.version;
    const planned = async () => {
      const hosts = await hostRecordsOf(client, own, cluster);
      const { spec } = cluster;
      return planFor(remove, { spec, applied: presentSpec(cluster, hosts), hosts, offer, version });
    };
    const { deletionTimestamp } = cluster.metadata;
    if (query.dryRun) {
      const plan = await planned();
      const more = [
        ...(body.retry && deletionTimestamp ? runningRefusals(cluster) : []),
        ...otherPlanRefusals(body.plan, remove, plan, cluster),
      ];
      const after = lastSequence(cluster);
      return {
        ...ok(),
        plan: planAnswer(remove, plan, {
          more,
          spelled: (problem) => problem,
          after,
          // A deletion changes no version.
          from: plan.target.cluster.kubeVersion,
        }),
      };
    }
    // A deletion cannot be undone, so its plan is compared before it starts and not later.
    if (body.plan !== undefined) refuseOtherPlan(body.plan, remove, await planned(), cluster);
    if (!deletionTimestamp) {
      try {
        await deleteFor(person.username, cluster, versionToWrite(headers, cluster));
      } catch (error) {
        if (isNotFound(error)) throw notFound(`cluster "${key.name}" is gone`);
        if (isConflict(error)) throw conflict(`cluster "${key.name}" was made anew meanwhile`);
        throw error;
      }
    } else if (body.retry) {
      const requestId = await judgeAndAsk(
        client,
        () => clusterIn(client, region, key),
        (found) => {
          refuseOtherVersion(headers, found);
          const running = operationUnderWay(found);
          if (running)
            throw conflict(
              `cluster "${key.name}" is busy: ${running.word}${byWhom(running.requestedBy)}`,
              'cluster-busy',
            );
          return { word: OPERATION_VALUES.delete.asked, person };
        },
      );
      return answerAccepted(reply, headers, { region, ...key }, requestId);
    }
    return answerAccepted(reply, headers, { region, ...key }, undefined);
  });
};
