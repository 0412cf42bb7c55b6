import { recordsAt } from '#access/host-records.ts';
import { onClusters, type User } from '#access/permissions.ts';
import { isFree } from '#api/host-record.ts';
import type { Problem } from '#base/errors.ts';
import type { Operation } from '#operations/operation.ts';
import type { Plan } from '#operations/plan-for.ts';
import { planHash } from '#operations/plan-hash.ts';
import type { PlanAnswer } from '#rest/plan.ts';
import type { PeopleDeps } from '../auth/route-deps.ts';

const versionChange = (from: string | undefined, to: string | undefined): Pick<PlanAnswer, 'kubeVersion'> =>
  to === undefined || to === from ? {} : { kubeVersion: { ...(from === undefined ? {} : { from }), to } };

/**
 * Returns a plan as REST answers it; `spelled` uses the request's field names, `after` is the last operation's sequence, `from`
 * the present version of Kubernetes.
 */
export const planAnswer = (
  { name }: Operation,
  plan: Plan,
  {
    more,
    spelled,
    after,
    from,
  }: {
    more: readonly Problem[];
    spelled: (problem: Problem) => Problem;
    after: number;
    from: string | undefined;
  },
): PlanAnswer => ({
  operation: name,
  hash: planHash(name, plan, after),
  ...versionChange(from, plan.target.cluster.kubeVersion),
  hosts: plan.hosts.map(({ member: host, action, reclaim }) => ({
    ip: host.ip,
    name: host.name,
    duties: host.duties,
    action,
    ...(reclaim === undefined ? {} : { reclaim }),
  })),
  release: [...plan.release],
  steps: [...plan.steps],
  hooks: plan.hooks.map(({ name, configMap, key, sha256 }) => ({ name, configMap, key, sha256 })),
  refusals: [...plan.refusals, ...more].map(spelled),
  warnings: plan.warnings.map(spelled),
});

/** Most clusters of which a dry run finds out whether the user may get them. */
const MAX_NAMED = 20;
const UNNAMED = 'another cluster';

/** Returns the hosts of a plan that another cluster holds. That cluster is named only to a user who may get it. */
export async function heldByOthers(
  { client, auth, namespace: own }: Pick<PeopleDeps, 'client' | 'auth' | 'namespace'>,
  person: User,
  { hosts }: Plan,
  clusterId: string | undefined,
): Promise<Problem[]> {
  const joining = new Set(hosts.filter(({ action }) => action === 'join').map(({ member: host }) => host.ip));
  const held = (await recordsAt(client, own, joining)).filter(
    (record) => record.spec.clusterId !== clusterId && !isFree(record),
  );
  const clusters = [...new Set(held.map(({ spec }) => spec.cluster))].slice(0, MAX_NAMED);
  const named = new Map(
    await Promise.all(
      clusters.map(async (cluster): Promise<[string, string]> => {
        const [namespace, name] = cluster.split('/');
        const maySee = await auth.may(person, onClusters('get', namespace, name));
        return [cluster, maySee ? `cluster ${cluster}` : UNNAMED];
      }),
    ),
  );
  return held.map(({ spec }) => ({
    field: 'spec.cluster',
    value: spec.ip,
    reason: `belongs to ${named.get(spec.cluster) ?? UNNAMED}; choose another host, or remove it there first`,
  }));
}
