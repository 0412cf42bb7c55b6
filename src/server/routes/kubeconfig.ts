import { z } from 'zod';
import { onKubeconfig } from '#access/deeds.ts';
import { isOwnSecret } from '#access/own-secret.ts';
import { SECRETS, type Secret, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { kubeconfigSecretName } from '#api/names.ts';
import { clusterPath, errorSchema, namespaceSchema, ok, okSchema } from '../bodies.ts';
import { conflict } from '../errors.ts';
import { clusterIn } from '../requests.ts';
import type { Routes } from './room.ts';

const YAML = 'application/yaml';

const response: Record<string, unknown> = {
  200: {
    description: 'The kubeconfig; with `Accept: application/json` in the envelope, as `message`.',
    content: { [YAML]: { schema: z.string() }, 'application/json': { schema: okSchema } },
  },
  '4xx': errorSchema,
};

/** Why a cluster has no kubeconfig to give, in a sentence. */
function whyNone({ metadata: { name }, status }: KubernetesCluster): string {
  const phase = status?.phase ? `its phase is ${status.phase}` : 'it was not created';
  return `cluster "${name}" has no kubeconfig yet; ${phase}`;
}

export const kubeconfigRoutes: Routes = (app, { client, auth }) => {
  app.get(
    '/region/:region/cluster/:name/kubeconfig',
    {
      schema: {
        summary: 'The administrator’s kubeconfig of a cluster',
        tags: ['clusters'],
        params: clusterPath,
        querystring: z.strictObject({ namespace: namespaceSchema.default('default') }),
        response,
      },
    },
    async ({ params: { region, name }, query: { namespace }, person, headers }, reply) => {
      await auth.allow(person, onKubeconfig(namespace, name));
      const cluster = await clusterIn(client, region, { namespace, name });
      const key = { namespace, name: kubeconfigSecretName(name) };
      const secret = await client.find<Secret>(SECRETS, key);
      // A Secret of that name that is somebody else's is not ours to show.
      const isOurs = secret !== undefined && isOwnSecret(secret, cluster.metadata, 'access');
      const text = isOurs ? secretText(secret, 'value') : undefined;
      if (text === undefined) throw conflict(whyNone(cluster));
      reply.header('cache-control', 'no-store');
      if (/^application\/json\b/.test(headers.accept ?? '')) return reply.send(ok(text));
      return reply.type(YAML).send(text);
    },
  );
};
