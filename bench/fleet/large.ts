import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { createLogger } from '#base/log.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import type { Figure } from '../figures.ts';
import { simulateKubelet } from './kubelet.ts';
import { startOperator } from './operator.ts';
import { OPERATOR_NAMESPACE, startWorld } from './world.ts';
import { countRequests, writesBetween } from './writes.ts';

const WAIT_MS = 5 * 60_000;
const JOB_MS = 1_000;
const RESOURCE = { namespace: 'default', name: 'large' };

const address = (index: number): string => `10.200.${Math.floor(index / 250)}.${(index % 250) + 1}`;
const hostsFrom = (first: number, end: number) =>
  Array.from({ length: end - first }, (_, index) => ({ ip: address(first + index) }));

/** Measures one cluster of many hosts, on a separate API server: creation, one more host, deletion. */
export async function measureLarge(say: Say, hosts: number): Promise<{ figures: Figure[]; lines: string[] }> {
  const { client, server, stop } = await startWorld(say);
  const stopKubelet = await simulateKubelet(client, OPERATOR_NAMESPACE, JOB_MS);
  const operator = await startOperator(server.kubeconfigPath, OPERATOR_NAMESPACE, 'of-one');
  let status = 0;
  let memory = 0;
  const watching = new AbortController();
  const seen = createInformer<KubernetesCluster>({
    client,
    log: createLogger('error'),
    resource: KUBERNETES_CLUSTERS,
  });
  seen.addHandler({
    update: (_, { status: now }) => {
      status = Math.max(status, Buffer.byteLength(JSON.stringify(now ?? {})));
    },
  });
  const watched = seen.run(watching.signal);
  const until = async (what: string, holds: (cluster: KubernetesCluster | undefined) => boolean) => {
    const began = performance.now();
    await announced(say, `${hosts} hosts: ${what}`, async () => {
      while (!holds(seen.get(RESOURCE))) {
        if (performance.now() - began > WAIT_MS)
          throw new Error(
            `${what}: not within ${WAIT_MS / 60_000} min: ${JSON.stringify(seen.get(RESOURCE)?.status?.conditions)}`,
          );
        await new Promise((resolve) => setTimeout(resolve, 50));
        memory = Math.max(memory, await operator.residentMiB());
      }
    });
    return (performance.now() - began) / 1_000;
  };
  try {
    await seen.whenSynced();
    const cluster = {
      nodeList: hostsFrom(1, hosts - 1),
      masterList: hostsFrom(0, 1),
      podCIDR: '172.16.0.0/12',
      serviceCIDR: '192.168.0.0/16',
      credentialsSecret: 'keys',
    };
    const before = await countRequests(client);
    await client.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
      metadata: { ...RESOURCE, annotations: { [annotations.operation]: 'creating' } },
      spec: { cluster },
    });
    const created = await until('created', isUpToDate(hosts - 1));
    const made = await countRequests(client);
    const more = { spec: { cluster: { nodeList: hostsFrom(1, hosts) } } };
    await client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, RESOURCE, more, { type: 'merge' });
    const scaled = await until('one more', isUpToDate(hosts));
    const grown = await countRequests(client);
    await client.delete(KUBERNETES_CLUSTERS, RESOURCE);
    const deleted = await until('deleted', (found) => found === undefined);
    const gone = await countRequests(client);
    return {
      figures: [
        { name: `one cluster of ${hosts} hosts: largest status (KiB)`, ours: status / 1_024, bound: 64 },
        { name: `one cluster of ${hosts} hosts: resident (MiB)`, ours: memory, bound: 250 },
      ],
      lines: [
        `one cluster of ${hosts} hosts: created in ${created.toFixed(1)} s with ${writesBetween(before, made, false)} writes, one more in ${scaled.toFixed(1)} s with ${writesBetween(made, grown, false)}, deleted in ${deleted.toFixed(1)} s with ${writesBetween(grown, gone, false)}`,
      ],
    };
  } finally {
    watching.abort(new Error('done'));
    await watched;
    await operator.kill('SIGTERM');
    await stopKubelet();
    await stop();
  }
}

const isUpToDate = (hosts: number) => (cluster: KubernetesCluster | undefined) =>
  cluster?.status?.phase === 'Running' &&
  cluster.spec?.cluster?.nodeList?.length === hosts - 1 &&
  (cluster.status.conditions ?? []).some(
    ({ type, status, observedGeneration }) =>
      type === 'UpToDate' && status === 'True' && observedGeneration === cluster.metadata.generation,
  );
