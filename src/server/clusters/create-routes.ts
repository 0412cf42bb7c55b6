import type { IncomingHttpHeaders } from 'node:http';
import { secretUseOf } from '#access/access.ts';
import { hostRecordsOf, remainsFor } from '#access/host-records.ts';
import {
  onClusters,
  onCredentials,
  onHooks,
  onManifests,
  onSettings,
  type User,
} from '#access/permissions.ts';
import { appliedOperation } from '#api/cluster-facts.ts';
import { LISTS } from '#api/host.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import { messageOf } from '#base/errors.ts';
import { create as createOperation } from '#operations/create.ts';
import { laidOver } from '#operations/merge-host-lists.ts';
import { planFor } from '#operations/plan-for.ts';
import { validateSpec } from '#operations/validate.ts';
import { ok } from '#rest/answers.ts';
import { type CreateBody, createCluster } from '#rest/asking.ts';
import type { PlanAnswer } from '#rest/plan.ts';
import type { Client } from '#runtime/client/client.ts';
import { isConflict, isNotFound, isUncertain } from '#runtime/wire/api-error.ts';
import type { PeopleDeps, PeopleRoutes } from '../auth/route-deps.ts';
import { addressOf } from '../http/address.ts';
import { conflict, unprocessable } from '../http/errors.ts';
import { repeatableRequestId, wasAsked } from '../http/idempotency.ts';
import { refuseOtherVersion } from '../http/if-match.ts';
import { asSpelledByRest } from '../http/problems.ts';
import { serve } from '../http/serve.ts';
import { lastSequence, otherPlanRefusals, refuseOtherPlan } from './agreed.ts';
import { type Wanted, wantedBy } from './creation.ts';
import { type Credentials, keepCredentials, takenSecret } from './credentials.ts';
import { limitRefusals, refuseBeyondLimits } from './limits.ts';
import { heldByOthers, planAnswer } from './plan-answer.ts';
import {
  answerAccepted,
  ask,
  busyRefusals,
  clusterIn,
  judgeAndAsk,
  keyOf,
  refuseBusy,
  requestBy,
  requestIdOf,
} from './requests.ts';
import { spelledFor } from './spelling.ts';

function validate(spec: KubernetesCluster['spec'], { offer }: PeopleDeps, placed: Wanted['placed']): void {
  const problems = validateSpec(spec, offer);
  if (problems.length > 0) throw unprocessable(problems.map((problem) => placed(asSpelledByRest(problem))));
}

/** Checks the permissions for a body before any lookup, so that refusals reveal nothing. */
async function authorize(
  { auth }: PeopleDeps,
  person: User,
  wanted: Wanted,
  body: CreateBody,
): Promise<void> {
  const { namespace, name } = wanted;
  await auth.allow(
    person,
    body.retry ? onClusters('update', namespace, name) : onClusters('create', namespace),
  );
  if (wanted.privateKey !== undefined) await auth.allow(person, onCredentials('create', namespace, name));
  // A retry may use the Secret that the object names; its permission is checked there.
  if (body.credentialsSecret !== undefined && !body.retry) {
    const secret = body.credentialsSecret;
    await auth.allowSecret(person, { namespace, cluster: name, uid: undefined, secret });
  }
}

/** Checks the permissions for a retry: it reuses the object's Secret and files, and `spec` may change its settings. */
async function authorizeRetry(
  { auth }: PeopleDeps,
  person: User,
  found: KubernetesCluster,
  spec: KubernetesCluster['spec'],
  wanted: Wanted,
): Promise<void> {
  const { namespace, privateKey } = wanted;
  // A request with a key does not need the permission for the former Secret.
  if (privateKey === undefined) await auth.allowSecret(person, secretUseOf({ ...found, spec }, namespace));
  // The webhook trusts writes of the server, so the permissions are checked here.
  const permissions = [...onManifests(spec, wanted), ...onHooks(spec, wanted)];
  for (const permission of [...permissions, ...onSettings(found.spec, spec, wanted)])
    await auth.allow(person, permission);
}

/** A creation with its body, and the headers that may name the version that it applies to. */
type Conditional = Wanted & { body: CreateBody; headers: IncomingHttpHeaders };

const MAX_TRIES = 5;

const alreadyThere = (name: string, namespace: string): Error =>
  conflict(
    `cluster "${name}" exists already in namespace "${namespace}"; to ask again, retry it`,
    'cluster-exists',
  );
const nothingToRetry = (name: string): Error =>
  conflict(`cluster "${name}" was created; there is nothing to retry`, 'nothing-to-retry');

const credentialsFor = ({ spec }: KubernetesCluster, privateKey: string): Credentials => ({
  username: spec.cluster.masterList?.[0]?.user ?? 'root',
  privateKey,
});

/**
 * Creates the object first, without its operation annotation. Its name is the lock that only one of two callers gets, and a
 * crash leaves an object that the controller does not work on. Then writes the key, owned by the object; the annotation
 * last.
 */
async function make(deps: PeopleDeps, person: User, wanted: Conditional): Promise<string | undefined> {
  refuseOtherVersion(wanted.headers, undefined);
  const { client, log } = deps;
  const { namespace, name, region, change, privateKey } = wanted;
  const word = OPERATION_VALUES.create.asked;
  const repeatable = repeatableRequestId(wanted.headers, person, wanted.body);
  const request = requestBy(person, repeatable);
  const cluster: KubernetesCluster = {
    metadata: { namespace, name, annotations: request },
    spec: { cluster: { ...change, region } },
  };
  const there = await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name });
  const isLeaving = there?.metadata.deletionTimestamp !== undefined;
  if (there && !isLeaving && repeatable !== undefined && wasAsked(there, repeatable, word)) return repeatable;
  // A creation with this key that was cut short before its last write is continued.
  const begun =
    repeatable !== undefined &&
    !isLeaving &&
    there?.metadata.annotations?.[annotations.requestId] === repeatable
      ? there
      : undefined;
  if (there && !begun) throw alreadyThere(name, namespace);
  validate(cluster.spec, deps, wanted.placed);
  await refuseBeyondLimits(
    deps,
    { ...wanted, old: undefined, next: cluster },
    spelledFor(cluster.spec, wanted.placed),
  );
  const { plan } = wanted;
  if (plan !== undefined)
    refuseOtherPlan(plan, createOperation, await creationPlan(deps, cluster.spec, undefined), undefined);
  let made: KubernetesCluster;
  try {
    made = begun ?? (await client.create<KubernetesCluster>(KUBERNETES_CLUSTERS, cluster));
  } catch (error) {
    const found = isUncertain(error)
      ? await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name })
      : undefined;
    const ours = found?.metadata.annotations?.[annotations.requestId] === request[annotations.requestId];
    if (!found || !ours) throw error;
    made = found;
  }
  try {
    if (privateKey !== undefined) await keepCredentials(deps, made, credentialsFor(made, privateKey));
    // The validated spec is written once more: a user may have changed the object that waited.
    const change = begun === undefined ? undefined : cluster.spec.cluster;
    return requestIdOf(await ask(client, made, { word, person, change, plan, requestId: repeatable }));
  } catch (error) {
    if (begun === undefined)
      await removeUnasked(client, made).catch((removal: unknown) => {
        // The caller learns why the creation failed; what stays has no operation, and a retry continues it.
        log.warn({ namespace, cluster: name, error: messageOf(removal) }, 'a failed creation is not removed');
      });
    throw error;
  }
}

/**
 * Removes the object of a creation that failed, unless it has the operation annotation: a write whose answer was lost, or the
 * repetition of the request, may have been accepted.
 */
async function removeUnasked(client: Client, made: KubernetesCluster): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    const found = await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(made));
    const { uid, resourceVersion, annotations: present } = found?.metadata ?? {};
    if (uid !== made.metadata.uid || present?.[annotations.operation]) return;
    try {
      await client.delete(KUBERNETES_CLUSTERS, keyOf(made), { preconditions: { uid, resourceVersion } });
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || tried >= MAX_TRIES) throw error;
    }
  }
}

/** Retries a failed creation with the changes of the body. */
async function again(deps: PeopleDeps, person: User, wanted: Conditional): Promise<string | undefined> {
  const { client } = deps;
  const { name, region, privateKey } = wanted;
  const word = OPERATION_VALUES.create.asked;
  const requestId = repeatableRequestId(wanted.headers, person, wanted.body);
  const judge = async (cluster: KubernetesCluster) => {
    if (requestId !== undefined && wasAsked(cluster, requestId, word)) return undefined;
    refuseOtherVersion(wanted.headers, cluster);
    const spec = retried(cluster, wanted.change);
    await authorizeRetry(deps, person, cluster, spec, wanted);
    if (appliedOperation(cluster)) throw nothingToRetry(name);
    refuseBusy(cluster, true);
    validate(spec, deps, wanted.placed);
    await refuseBeyondLimits(
      deps,
      { ...wanted, old: cluster, next: { spec } },
      spelledFor(spec, wanted.placed),
    );
    const { plan } = wanted;
    if (plan !== undefined)
      refuseOtherPlan(plan, createOperation, await creationPlan(deps, spec, cluster), cluster);
    const prepare =
      privateKey === undefined
        ? undefined
        : () => keepCredentials(deps, cluster, credentialsFor({ ...cluster, spec }, privateKey));
    return { word, person, change: spec.cluster, plan, prepare, requestId };
  };
  return (await judgeAndAsk(client, () => clusterIn(client, region, wanted), judge)) ?? requestId;
}

/** Returns the plan of the creation. */
async function creationPlan(
  { client, namespace, offer }: PeopleDeps,
  spec: KubernetesCluster['spec'],
  found: KubernetesCluster | undefined,
) {
  const version = found?.status?.version;
  const hosts = found ? await hostRecordsOf(client, namespace, found) : [];
  const clusterId = found?.metadata.annotations?.[annotations.clusterId];
  const remains = await remainsFor(client, namespace, { spec, hosts, clusterId });
  return planFor(createOperation, { spec, applied: undefined, hosts, remains, offer, version });
}

/** Plans the creation and checks the permissions for it; writes nothing. */
async function planned(
  deps: PeopleDeps,
  person: User,
  wanted: Conditional,
  body: CreateBody,
): Promise<PlanAnswer> {
  const { client } = deps;
  const { namespace, name, region, change, privateKey } = wanted;
  const found = body.retry
    ? await clusterIn(client, region, wanted)
    : await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name });
  refuseOtherVersion(wanted.headers, body.retry ? found : undefined);
  if (found && !body.retry) throw alreadyThere(name, namespace);
  const spec = found ? retried(found, change) : { cluster: { ...change, region } };
  if (found) await authorizeRetry(deps, person, found, spec, wanted);
  if (found && appliedOperation(found)) throw nothingToRetry(name);
  const plan = await creationPlan(deps, spec, found);
  const id = found?.metadata.annotations?.[annotations.clusterId];
  const taken = privateKey === undefined ? undefined : await takenSecret(client, wanted);
  const more = [
    ...(found ? busyRefusals(found, true) : []),
    ...(taken === undefined ? [] : [{ field: 'privateSSHKey', reason: `cannot be kept: ${taken}` }]),
    ...otherPlanRefusals(wanted.plan, createOperation, plan, found),
    ...(await heldByOthers(deps, person, plan, id)),
    ...(await limitRefusals(deps, { namespace, name, old: found, next: { spec } })),
  ];
  const spelled = spelledFor(spec, wanted.placed);
  return planAnswer(createOperation, plan, {
    more,
    spelled,
    after: lastSequence(found),
    from: found?.status?.version,
  });
}

/** Returns the spec of a cluster with the changes of a body. */
function retried({ spec }: KubernetesCluster, change: Wanted['change']): KubernetesCluster['spec'] {
  const merged = { ...change };
  for (const list of LISTS) {
    const given = merged[list];
    if (given) merged[list] = laidOver(spec.cluster[list], given);
  }
  return { ...spec, cluster: { ...spec.cluster, ...merged } };
}

export const createRoutes: PeopleRoutes = (app, deps) => {
  serve(app, createCluster, async ({ params, query, body, person, headers }, reply) => {
    const wanted = { ...wantedBy(body, addressOf({ params, query, body })), body, headers };
    await authorize(deps, person, wanted, body);
    if (query.dryRun) return { ...ok(), plan: await planned(deps, person, wanted, body) };
    const requestId = await (body.retry ? again(deps, person, wanted) : make(deps, person, wanted));
    const { region, namespace, name } = wanted;
    return answerAccepted(reply, headers, { region, namespace, name }, requestId);
  });
};
