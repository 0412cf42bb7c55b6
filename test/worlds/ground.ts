import { mkdtemp, rm } from 'node:fs/promises';
import { installCrds } from '#lab/apiserver/crds.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { type ApiServer, startApiServer } from '../../lab/apiserver/start.ts';

/** Resources that all plans of a process share. */
export interface Ground {
  client: Client;
  /** Parent of the directories that represent hosts. */
  dir: string;
  leave(): Promise<void>;
}

/** Starts an API server. Pods are created without a kubelet here and need no ServiceAccount. */
export const startServer = (): Promise<ApiServer & AsyncDisposable> =>
  startApiServer({ flags: ['--disable-admission-plugins=ServiceAccount'] });

/** Prefers a directory in memory, because the fence syncs its writes. */
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
