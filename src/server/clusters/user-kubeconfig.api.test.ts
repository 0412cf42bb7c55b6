import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { kubeconfigSecretName } from '#api/names.ts';
import { purposeLabel } from '#api/own-secret.ts';
import { type ApiServer, startApiServer } from '#lab/apiserver/start.ts';
import { createClient } from '#runtime/client/client.ts';
import { parseKubeConfig } from '#runtime/kubeconfig/kube-config.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';
import { identityOf } from './user-kubeconfig.ts';

/** A kubeconfig for the caller, from a real API server and signer in the place of the cluster. */
let server: ApiServer;
let world: RestWorld;
beforeAll(async () => {
  server = await startApiServer({ controllerManager: true, signsUsers: true });
  world = await restWorld(undefined, Number(new URL(server.url).port));
});
afterAll(async () => {
  await world.stop();
  await server.stop();
});

const SIGNING_REQUESTS = {
  group: 'certificates.k8s.io',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  namespaced: false,
};

/** Creates a cluster with this administrator's kubeconfig. */
async function given(name: string, ip: string, kubeconfig: string): Promise<void> {
  const cluster = await world.admin.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    metadata: { namespace: world.namespace, name },
    spec: { cluster: { region: 'north', masterList: [{ ip }] } },
  });
  const { uid = '' } = cluster.metadata;
  const owner = { apiVersion: 'ecs.yun.com/v1', kind: KUBERNETES_CLUSTERS.kind, name, uid };
  await world.admin.create<Secret>(SECRETS, {
    metadata: {
      namespace: world.namespace,
      name: kubeconfigSecretName(name),
      labels: purposeLabel('access'),
      ownerReferences: [owner],
    },
    data: secretData({ value: kubeconfig }),
  });
}
const get = (who: string, name: string, seconds: string) =>
  world.call(
    who,
    'GET',
    `/region/north/cluster/${name}/kubeconfig?namespace=${world.namespace}&expirationSeconds=${seconds}`,
  );

describe('GET …/kubeconfig?expirationSeconds=', () => {
  it('returns a kubeconfig of the caller, in which the cluster decides about rights', async () => {
    await given('demo', '127.0.0.1', server.kubeconfig);
    const answer = await get(world.tokens.alice, 'demo', '600');
    expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(parse(answer.text)).toMatchObject({ clusters: [{ cluster: { server: server.url } }] });
    const client = createClient(await parseKubeConfig(answer.text), { userAgent: 'test' });
    await expect(client.list(SECRETS, { namespace: 'default' })).rejects.toThrow(
      `User "meta:system:serviceaccount:${world.namespace}:alice" cannot list resource "secrets"`,
    );
    await client.close();
    // The request is gone.
    const admin = createClient(await parseKubeConfig(server.kubeconfig), { userAgent: 'test' });
    expect((await admin.list(SIGNING_REQUESTS)).items).toEqual([]);
    await admin.close();
  });

  it.each([
    ['599', /expirationSeconds/],
    ['86401', /expirationSeconds/],
    ['an hour', /expirationSeconds/],
  ])('refuses %s seconds', async (seconds, reason) => {
    const { status, text } = await get(world.tokens.alice, 'demo', seconds);
    expect([400, 422]).toContain(status);
    expect(text).toMatch(reason);
  });

  it('needs its own right', async () => {
    const { status, text } = await get(world.tokens.mallory, 'demo', '600');
    expect(status).toBe(403);
    expect(text).toContain('get kubernetesclusters/userkubeconfig');
  });

  it('names the API servers that do not answer', async () => {
    await given('away', '127.0.0.2', server.kubeconfig);
    const { status, text } = await get(world.tokens.alice, 'away', '600');
    expect(status).toBe(503);
    expect(text).toContain('no API server of the cluster is ready: 127.0.0.2:');
  });

  it('does not use a Secret without credentials in its text', async () => {
    await given('empty', '127.0.0.1', 'apiVersion: v1\n');
    expect(await get(world.tokens.alice, 'empty', '600')).toMatchObject({ status: 409 });
  });
});

it('keeps names that have a meaning in each cluster apart', () => {
  const groups = ['dev', 'system:masters', 'system:authenticated', 'kubeadm:cluster-admins', 'meta:x'];
  expect(identityOf({ username: 'system:node:a', groups })).toEqual({
    name: 'meta:system:node:a',
    groups: ['dev', 'meta:system:masters', 'meta:kubeadm:cluster-admins', 'meta:meta:x'],
  });
  expect(identityOf({ username: 'alice', groups: [] }).name).toBe('alice');
});
