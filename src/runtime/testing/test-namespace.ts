import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, inject } from 'vitest';
import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { type Client, createClient } from '../client/client.ts';
import { loadEndpoint } from '../kubeconfig/kube-config.ts';
import type { Endpoint } from '../wire/endpoint.ts';

/** Describes a kind that every API server has, for tests. */
const core = (kind: string, plural: string): Resource => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced: true,
});
export const CONFIG_MAPS = core('ConfigMap', 'configmaps');
export const SECRETS = core('Secret', 'secrets');

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  immutable?: boolean;
}

/** Separate namespace of a test on the run's API server. Client and endpoint exist once its hooks have run. */
export interface TestNamespace {
  readonly namespace: string;
  /** Client that connects to the API server directly, as cluster admin. */
  readonly client: Client;
  readonly endpoint: Endpoint;
  key(name: string): ObjectKey;
}

/**
 * Creates a namespace before the tests and removes it after them. Call it at the top of a test file of the `api` project.
 */
export function useNamespace(
  prefix: string,
  kubeconfigPath: () => string = () => inject('kubeconfigPath'),
): TestNamespace {
  const namespace = `${prefix}-${randomUUID().slice(0, 8)}`;
  let ready: { client: Client; endpoint: Endpoint } | undefined;
  const given = () => {
    if (!ready) throw new Error('the namespace is there from beforeAll on');
    return ready;
  };
  beforeAll(async () => {
    const endpoint = await loadEndpoint({ kubeconfig: kubeconfigPath() });
    ready = { endpoint, client: createClient(endpoint, { userAgent: 'test' }) };
    await ready.client.create(NAMESPACES, { metadata: { name: namespace } });
  });
  afterAll(async () => {
    const { client } = given();
    await client.delete(NAMESPACES, { namespace: '', name: namespace });
    await client.close();
  });
  return {
    namespace,
    key: (name) => ({ namespace, name }),
    get client() {
      return given().client;
    },
    get endpoint() {
      return given().endpoint;
    },
  };
}
