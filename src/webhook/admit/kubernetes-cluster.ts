import { z } from 'zod';
import { secretUseOf } from '#access/access.ts';
import {
  onClusters,
  onHooks,
  onKubeconfig,
  onManifests,
  onSettings,
  onSnapshots,
  type Permission,
} from '#access/permissions.ts';
import { isDryRun } from '#api/cluster-facts.ts';
import { type KubernetesCluster, specSchema } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES, operationAsked } from '#api/operation-values.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';
import { findOperation } from '#operations/index.ts';
import { limitProblems } from '#operations/limits.ts';
import { type Admission, type AdmissionRequest, type Judgement, refused } from '../admission.ts';
import type { WebhookDeps } from '../deps.ts';
import { cancelProblems } from '../validate/cancel.ts';
import type { Change } from '../validate/change.ts';
import { hooksUsedAnew } from '../validate/hook-use.ts';
import { guarded, validateKubernetesCluster } from '../validate/kubernetes-cluster.ts';
import { manifestsUsedAnew } from '../validate/manifest-use.ts';
import { usesSecretAnew } from '../validate/secret-use.ts';

const envelope = z.looseObject({
  metadata: z.looseObject({
    name: z.string().optional(),
    namespace: z.string().optional(),
    deletionTimestamp: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.unknown().optional(),
});

/** Whether a value has the fields that the rules read first; another rule checks the schema of the spec. */
const isCluster = (value: unknown): value is KubernetesCluster => {
  const parsed = envelope.safeParse(value);
  return parsed.success && z.object({ cluster: z.looseObject({}) }).safeParse(parsed.data.spec).success;
};

const withoutPause = ({ spec: { paused: _paused, ...rest } }: KubernetesCluster): string =>
  canonicalJson(rest);

/** Admits KubernetesClusters: first the rules, then whether the requester may read and use what the operator would. */
export const kubernetesClusterAdmission: Admission = async (request, deps) => {
  const { object: next, oldObject, operation, userInfo } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return { allowed: true };
  const old = oldObject ?? undefined;
  if (!isCluster(next) || (old !== undefined && !isCluster(old))) {
    const issues = specSchema.safeParse(isObject(next) ? next['spec'] : undefined).error?.issues ?? [];
    const problems = issues.map(({ path, message }) => ({
      field: ['spec', ...path].join('.'),
      reason: message,
    }));
    return refused(
      problems.length > 0 ? problems : [{ field: 'spec', reason: 'is not a KubernetesCluster' }],
    );
  }
  const { controllerUser, serverUser, offer } = deps;
  const { username: user } = userInfo;
  // A deletion must be able to end, whatever rules were added since the object was admitted.
  if (old && next.metadata.deletionTimestamp && withoutPause(old) === withoutPause(next)) {
    const forged = user === controllerUser ? [] : guarded({ old, next });
    const wrong = [...forged, ...cancelProblems({ old, next })];
    return wrong.length > 0 ? refused(wrong) : { allowed: true };
  }
  const hosts = await deps.hostsOf(old ?? next);
  const problems = validateKubernetesCluster({ old, next, user, controllerUser, offer, hosts });
  if (problems.length > 0) return refused(problems);
  const beyond = await beyondLimits({ old, next }, request, deps);
  if (beyond.length > 0) return refused(beyond);
  if (user === serverUser || user === controllerUser) return { allowed: true };
  return (await missingRight({ old, next, hosts }, request, deps)) ?? { allowed: true };
};

/** Returns the exceeded limits. The controller only moves spares that were counted when they were named; it adds nothing. */
async function beyondLimits(
  { old, next }: Pick<Change, 'old' | 'next'>,
  { namespace, userInfo }: AdmissionRequest,
  { controllerUser, limits, clustersIn }: WebhookDeps,
): Promise<Problem[]> {
  if (userInfo.username === controllerUser) return [];
  if (old && canonicalJson(old.spec) === canonicalJson(next.spec)) return [];
  const { name = '' } = next.metadata;
  return limitProblems({ old, next, namespace, name }, limits, clustersIn);
}

/** Returns the refusal if the requester lacks a permission for what the change makes the operator do. */
async function missingRight(
  { old, next, hosts }: Pick<Change, 'old' | 'next' | 'hosts'>,
  { namespace, userInfo }: AdmissionRequest,
  { access }: WebhookDeps,
): Promise<Judgement | undefined> {
  const { name = '' } = next.metadata;
  const asked = [...permissionsOf({ old, next, hosts }, { namespace, name })].map(
    async ({ permission, field, explain }) => {
      const reason = await access.refusal(userInfo, permission);
      return reason === undefined ? undefined : forbidden(field, explain(reason));
    },
  );
  if (usesSecretAnew({ old, next, hosts })) {
    // The uid of the stored object: a user who writes another uid does not own that object's Secret.
    const { uid: _uid, ...metadata } = next.metadata;
    const stored = old?.metadata.uid === undefined ? {} : { uid: old.metadata.uid };
    const use = secretUseOf({ ...next, metadata: { ...metadata, ...stored } }, namespace);
    asked.push(
      access
        .secretRefusal(userInfo, use)
        .then((reason) =>
          reason === undefined ? undefined : forbidden('spec.cluster.credentialsSecret', reason),
        ),
    );
  }
  const secret = next.spec.etcdSnapshots?.secret;
  if (secret !== undefined && secret !== old?.spec.etcdSnapshots?.secret)
    asked.push(
      access
        .secretRefusal(userInfo, { namespace, cluster: name, uid: undefined, secret })
        .then((reason) =>
          reason === undefined ? undefined : forbidden('spec.etcdSnapshots.secret', reason),
        ),
    );
  // In parallel, since the API server waits for the answer; the first refusal in order is reported.
  return (await Promise.all(asked)).find((refusal) => refusal !== undefined);
}

/** A permission that a change requires, the field of its refusal, and the message. */
interface Needed {
  permission: Permission;
  field: string;
  explain(reason: string): string;
}

function* permissionsOf(
  { old, next, hosts }: Pick<Change, 'old' | 'next' | 'hosts'>,
  key: { namespace: string; name: string },
): Generator<Needed> {
  const asIs = (reason: string): string => reason;
  // The change releases a request that a dry run or a changed plan blocked.
  const isLetGo = old !== undefined && ((isDryRun(old) && !isDryRun(next)) || planIn(old) !== planIn(next));
  if (
    operationValueOf(next) === OPERATION_VALUES.delete.asked &&
    (operationValueOf(old) !== OPERATION_VALUES.delete.asked || isLetGo)
  )
    yield {
      permission: onClusters('delete', key.namespace, key.name),
      field: `metadata.annotations[${annotations.operation}]`,
      explain: (reason) => `${reason}, which "terminating" does`,
    };
  if (isPowerfulAsked({ old, next }, isLetGo))
    yield {
      permission: onKubeconfig(key.namespace, key.name),
      field: `metadata.annotations[${annotations.operation}]`,
      explain: (reason) =>
        `${reason}, and needs that right for "${operationValueOf(next)}", which can give as much`,
    };
  for (const permission of onSnapshots(old?.spec, next.spec, key))
    yield {
      permission,
      field: 'spec.etcdSnapshots.secret',
      explain: (reason) =>
        `${reason}, and needs that right to change the key of snapshots, which contain the keys of the cluster`,
    };
  for (const permission of onManifests(manifestsUsedAnew({ old, next, hosts }), key))
    yield { permission, field: 'spec.addons.manifests', explain: asIs };
  for (const permission of onHooks(hooksUsedAnew({ old, next, hosts }), key))
    yield { permission, field: 'spec.hooks', explain: asIs };
  for (const permission of onSettings(old?.spec, next.spec, key))
    yield {
      permission,
      field: 'spec.cluster',
      explain: (reason) =>
        `${reason}, and needs that right for a change of imagesRegistry, or of kubelet, patches, registryMirrors, proxy or audit in kubeadm, which give as much`,
    };
}

/** Whether the change asks for an operation that needs the right to the kubeconfig, or for another one than before. */
function isPowerfulAsked({ old, next }: Pick<Change, 'old' | 'next'>, isLetGo: boolean): boolean {
  if (!findOperation(operationAsked(operationValueOf(next)))?.needsKubeconfig) return false;
  const chosen = (cluster: KubernetesCluster | undefined) =>
    [
      annotations.operation,
      annotations.requestId,
      annotations.snapshot,
      annotations.confirmDataLossSince,
    ].map((name) => cluster?.metadata.annotations?.[name]);
  return isLetGo || canonicalJson(chosen(old)) !== canonicalJson(chosen(next));
}

const forbidden = (field: string, reason: string): Judgement => ({
  allowed: false,
  status: 403,
  message: `${field}: ${reason}`,
  problems: [{ field, reason }],
});

const operationValueOf = (cluster: KubernetesCluster | undefined): string | undefined =>
  cluster?.metadata.annotations?.[annotations.operation];

const planIn = (cluster: KubernetesCluster): string | undefined =>
  cluster.metadata.annotations?.[annotations.plan];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
