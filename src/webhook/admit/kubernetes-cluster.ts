import { z } from 'zod';
import { type KubernetesCluster, specSchema } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { WORDS } from '#api/words.ts';
import { canonicalJson } from '#base/canonical.ts';
import { type Admission, refused } from '../admission.ts';
import { secretNamedBy, validateKubernetesCluster } from '../validate/kubernetes-cluster.ts';

const envelope = z.looseObject({
  metadata: z.looseObject({
    name: z.string().optional(),
    namespace: z.string().optional(),
    deletionTimestamp: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.unknown(),
});

/** Whether a value has what the rules read first; that the spec has its shape is a rule of its own. */
const isCluster = (value: unknown): value is KubernetesCluster => {
  const parsed = envelope.safeParse(value);
  return parsed.success && z.object({ cluster: z.looseObject({}) }).safeParse(parsed.data.spec).success;
};

const withoutPause = ({ spec: { paused: _paused, ...rest } }: KubernetesCluster): string =>
  canonicalJson(rest);

/** Admission of KubernetesClusters: the rules, then whether the requester may read the Secret that he names. */
export const kubernetesClusterAdmission: Admission = async (request, deps) => {
  const { object: next, oldObject, operation, namespace, userInfo } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return { allowed: true };
  const old = oldObject ?? undefined;
  if (!isCluster(next) || (old !== undefined && !isCluster(old))) {
    const issues = specSchema.safeParse(isObject(next) ? next['spec'] : undefined).error?.issues ?? [];
    const problems = issues.map(({ path, message }) => ({
      field: ['spec', ...path].join('.'),
      reason: message,
    }));
    return refused(problems.length > 0 ? problems : [{ field: 'spec', reason: 'is no KubernetesCluster' }]);
  }
  // What is being deleted must be able to end, whatever rules came since it was let in.
  if (old && next.metadata.deletionTimestamp && withoutPause(old) === withoutPause(next))
    return { allowed: true };
  const { controllerUser, serverUser, offer } = deps;
  const { username: user } = userInfo;
  const problems = validateKubernetesCluster({ old, next, user, controllerUser, offer });
  if (problems.length > 0) return refused(problems);
  const asksToDelete = wordOf(next) === WORDS.delete.asked && wordOf(old) !== WORDS.delete.asked;
  const trusted = user === serverUser || user === controllerUser;
  if (
    asksToDelete &&
    !trusted &&
    !(await deps.mayDeleteCluster(userInfo, namespace, next.metadata.name ?? ''))
  ) {
    const field = `metadata.annotations[${annotations.operation}]`;
    const reason = `user "${user}" may not delete the cluster, which is what "terminating" does`;
    return { allowed: false, status: 403, message: `${field}: ${reason}`, problems: [{ field, reason }] };
  }
  const secret = trusted ? undefined : secretNamedBy({ old, next });
  if (secret === undefined || (await deps.mayGetSecret(userInfo, namespace, secret)))
    return { allowed: true };
  const field = 'spec.cluster.credentialsSecret';
  const reason = `user "${user}" may not get Secret "${secret}" in namespace "${namespace}"`;
  return { allowed: false, status: 403, message: `${field}: ${reason}`, problems: [{ field, reason }] };
};

const wordOf = (cluster: KubernetesCluster | undefined): string | undefined =>
  cluster?.metadata.annotations?.[annotations.operation];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
