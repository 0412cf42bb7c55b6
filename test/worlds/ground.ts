import { mkdtemp, rm } from 'node:fs/promises';
import { installCrds } from '#lab/apiserver/crds.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { type ApiServer, startApiServer } from '../../lab/apiserver/start.ts';

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
  await installCrds(client);
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
