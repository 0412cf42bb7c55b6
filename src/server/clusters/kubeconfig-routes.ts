import { onKubeconfig } from '#access/permissions.ts';
import { SECRETS, type Secret, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { kubeconfigSecretName } from '#api/names.ts';
import { ownershipOf } from '#api/own-secret.ts';
import { ok } from '#rest/answers.ts';
import { getKubeconfig } from '#rest/read-routes.ts';
import type { PeopleRoutes } from '../auth/route-deps.ts';
import { conflict } from '../http/errors.ts';
import { serve } from '../http/serve.ts';
import { clusterIn } from './requests.ts';

const YAML = 'application/yaml';

/** Returns why a cluster has no kubeconfig, in a sentence. */
function whyNone({ metadata: { name }, status }: KubernetesCluster): string {
  const phase = status?.phase ? `its phase is ${status.phase}` : 'it was not created';
  return `cluster "${name}" has no kubeconfig yet; ${phase}`;
}

export const kubeconfigRoutes: PeopleRoutes = (app, { client, auth }) => {
  serve(
    app,
    getKubeconfig,
    async ({ params: { region, name }, query: { namespace }, person, headers }, reply) => {
      await auth.allow(person, onKubeconfig(namespace, name));
      const cluster = await clusterIn(client, region, { namespace, name });
      const key = { namespace, name: kubeconfigSecretName(name) };
      const secret = await client.find<Secret>(SECRETS, key);
      // A Secret of that name may have another owner; the server does not show it.
      const isOurs = secret !== undefined && ownershipOf(secret, cluster.metadata, 'access') === 'ours';
      const text = isOurs ? secretText(secret, 'value') : undefined;
      if (text === undefined) throw conflict(whyNone(cluster));
      reply.header('cache-control', 'no-store');
      if (/^application\/json\b/.test(headers.accept ?? '')) return ok(text);
      return reply.type(YAML).send(text);
    },
  );
};
