import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { CONFIG_MAPS, SECRETS } from '#api/core.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { CALLBACK_AUDIENCE } from '#api/names.ts';
import { SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { isApiError, isForbidden } from '#runtime/wire/api-error.ts';
import type { Endpoint } from '#runtime/wire/endpoint.ts';
import { readManifests, resourceOf } from './manifests.ts';

/** Tests row 23 of docs/security.md: the API rights of a Job's pod with any of its tokens. */
const NAMESPACE = 'matryoshka-system';
const rulesAnswer = z.object({
  status: z.object({ resourceRules: z.array(z.unknown()), nonResourceRules: z.array(z.unknown()) }),
});
const tokenAnswer = z.object({ status: z.object({ token: z.string() }) });
let endpoint: Endpoint;
let admin: Client;
const clients: Client[] = [];

beforeAll(async () => {
  endpoint = await loadEndpoint({ kubeconfig: inject('kubeconfigPath') });
  admin = createClient(endpoint, { userAgent: 'matryoshka-test' });
  const manifests = readManifests(join(import.meta.dirname, '../../deploy/manifests'));
  const rights = /^(Namespace|ServiceAccount|(Cluster)?Role(Binding)?)$/;
  for (const object of manifests)
    if (rights.test(object.kind))
      await admin.apply(resourceOf(object), object, { fieldManager: 'test', force: true });
  const bare = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: NAMESPACE, name: 'bare' } };
  await admin.apply(SERVICE_ACCOUNTS, bare, { fieldManager: 'test' });
});
afterAll(() => Promise.all([admin, ...clients].map((client) => client.close())));

async function clientOf(account: string, audiences?: readonly string[]): Promise<Client> {
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${account}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences } };
  const { token } = tokenAnswer.parse(await admin.request('POST', path, body)).status;
  const headers = () => ({ authorization: `Bearer ${token}` });
  const client = createClient({ ...endpoint, tls: () => endpoint.tls(), headers }, { userAgent: account });
  clients.push(client);
  return client;
}
async function rulesOf(client: Client, namespace: string): Promise<string[]> {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  };
  const { resourceRules, nonResourceRules } = rulesAnswer.parse(
    await client.request('POST', path, review),
  ).status;
  // The API server returns the rules in no fixed order.
  return [...resourceRules, ...nonResourceRules].map((rule) => JSON.stringify(rule)).sort();
}

it('the API server rejects the token of a Job’s pod', async () => {
  const pod = await clientOf('matryoshka-runner', [CALLBACK_AUDIENCE]);
  await expect(pod.list(CONFIG_MAPS, { namespace: NAMESPACE })).rejects.toSatisfy((error) =>
    isApiError(error, 'Unauthorized'),
  );
});

it.each(['matryoshka-runner', 'matryoshka-hook'])(
  'account %s has no more permissions than any other ServiceAccount',
  async (account) => {
    const [runner, bare] = [await clientOf(account), await clientOf('bare')];
    for (const namespace of [NAMESPACE, 'matryoshka-reports', 'default']) {
      expect(await rulesOf(runner, namespace)).toEqual(await rulesOf(bare, namespace));
      for (const kind of [SECRETS, CONFIG_MAPS, KUBERNETES_CLUSTERS])
        await expect(runner.list(kind, { namespace })).rejects.toSatisfy(isForbidden);
    }
  },
);
