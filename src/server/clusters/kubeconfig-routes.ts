import { onKubeconfig, onUserKubeconfig, type User } from '#access/permissions.ts';
import { SECRETS, type Secret, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { kubeconfigSecretName } from '#api/names.ts';
import { ownershipOf } from '#api/own-secret.ts';
import { accessIn } from '#cluster-access/access.ts';
import { ok } from '#rest/answers.ts';
import { getKubeconfig } from '#rest/read-routes.ts';
import type { PeopleRoutes } from '../auth/route-deps.ts';
import { conflict } from '../http/errors.ts';
import { serve } from '../http/serve.ts';
import { clusterIn } from './requests.ts';
import { userKubeconfig } from './user-kubeconfig.ts';

const YAML = 'application/yaml';

/** Returns why a cluster has no kubeconfig, in a sentence. */
function whyNone({ metadata: { name }, status }: KubernetesCluster): string {
  const phase = status?.phase ? `its phase is ${status.phase}` : 'it was not created';
  return `cluster "${name}" has no kubeconfig yet; ${phase}`;
}

export const kubeconfigRoutes: PeopleRoutes = (app, { client, auth, clock, clusterPort }) => {
  async function ofUser(cluster: KubernetesCluster, admin: string, person: User, seconds: number) {
    const access = accessIn(admin);
    if (!access)
      throw conflict(
        `Secret "${kubeconfigSecretName(cluster.metadata.name ?? '')}" has no usable kubeconfig; delete it, and the operator fetches it again`,
        'no-kubeconfig',
      );
    return userKubeconfig({ cluster, access, person }, seconds, { clock, port: clusterPort });
  }

  serve(
    app,
    getKubeconfig,
    async ({ params: { region, name }, query: { namespace, expirationSeconds }, person, headers }, reply) => {
      const isOwn = expirationSeconds !== undefined;
      await auth.allow(person, (isOwn ? onUserKubeconfig : onKubeconfig)(namespace, name));
      const cluster = await clusterIn(client, region, { namespace, name });
      const key = { namespace, name: kubeconfigSecretName(name) };
      const secret = await client.find<Secret>(SECRETS, key);
      // A Secret of that name may have another owner; the server does not show it.
      const isOurs = secret !== undefined && ownershipOf(secret, cluster.metadata, 'access') === 'ours';
      const admin = isOurs ? secretText(secret, 'value') : undefined;
      if (admin === undefined) throw conflict(whyNone(cluster), 'no-kubeconfig');
      const text = isOwn ? await ofUser(cluster, admin, person, expirationSeconds) : admin;
      reply.header('cache-control', 'no-store');
      if (/^application\/json\b/.test(headers.accept ?? '')) return ok(text);
      return reply.type(YAML).send(text);
    },
  );
};
