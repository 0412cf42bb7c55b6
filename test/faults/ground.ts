import { mkdtemp, rm } from 'node:fs/promises';
import { parse } from 'yaml';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { sleep } from '#base/clock.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '#lab/apiserver/kinds.ts';
import { isAlreadyExists, isNotFound } from '#runtime/api-error.ts';
import { type Client, createClient } from '#runtime/client.ts';
import { loadEndpoint } from '#runtime/kube-config.ts';
import { type ApiServer, startApiServer } from '../../lab/apiserver/start.ts';
import { crdFiles } from '../../src/crds.ts';

/** What every plan of a process shares. */
export interface Ground {
  client: Client;
  /** For directories that stand for hosts. */
  dir: string;
  leave(): Promise<void>;
}

/** Pods are made here without a kubelet, and need no account. */
export const startServer = (): Promise<ApiServer & AsyncDisposable> =>
  startApiServer({ flags: ['--disable-admission-plugins=ServiceAccount'] });

/** In memory where there is such a place: the fence syncs what it writes. */
export async function groundOn(kubeconfig: string): Promise<Ground> {
  const client = createClient(await loadEndpoint({ kubeconfig }), { userAgent: 'faults' });
  try {
    const crd: KubeObject = parse(crdFiles['kubernetesclusters.ecs.yun.com.yaml'] ?? '');
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, crd);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  await untilServed(client);
  const dir = await mkdtemp('/dev/shm/matryoshka-faults-').catch(() => mkdtemp('/tmp/matryoshka-faults-'));
  return {
    client,
    dir,
    async leave() {
      await client.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A kind is served a moment after its CRD was taken, and nothing tells when. */
async function untilServed(client: Client): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      return void (await client.list(KUBERNETES_CLUSTERS, { limit: 1 }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await sleep(25);
    }
  }
  throw new Error('the API server does not serve kubernetesclusters');
}
