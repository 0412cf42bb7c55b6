import { findCondition } from '#api/conditions.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { createLogger } from '#base/log.ts';
import { kstatusOf } from '#lab/kstatus/run.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { createInformer } from '#runtime/cache/informer.ts';

const is = (one: KubernetesCluster, type: string) =>
  findCondition(one.status?.conditions, type)?.status === 'True';

/**
 * Returns the wanted kstatus: in progress while an operation runs or an edit waits, current after it, failed if a user must
 * act.
 */
function wantedOf(one: KubernetesCluster): string {
  if (one.metadata.deletionTimestamp) return 'Terminating';
  if (one.status?.observedGeneration !== one.metadata.generation) return 'InProgress';
  if (is(one, 'Stalled')) return 'Failed';
  return is(one, 'UpToDate') ? 'Current' : 'InProgress';
}

/** Keeps every version of the object that a watch delivers from now on, and computes its kstatus. */
export async function watchedByKstatus(meta: Meta, name: string) {
  const versions: KubernetesCluster[] = [];
  const ending = new AbortController();
  const informer = createInformer<KubernetesCluster>({
    client: meta.client,
    resource: KUBERNETES_CLUSTERS,
    selection: { namespace: 'default', fieldSelector: `metadata.name=${name}` },
    log: createLogger('silent'),
  });
  const keep = (one: KubernetesCluster) => versions.push(one);
  informer.addHandler({ add: keep, update: (_before, after) => keep(after) });
  void informer.run(ending.signal);
  await informer.whenSynced();
  return {
    stop: () => ending.abort(new Error('seen')),
    /** Returns kstatus' result for each version, and the wanted one. */
    async read(): Promise<{ said: string[]; wanted: string[] }> {
      // Before the controller has seen the object it has no status, which kstatus reads as current.
      const reported = versions.filter(({ status }) => status?.observedGeneration !== undefined);
      const withKind = reported.map((one) => ({
        apiVersion: 'ecs.yun.com/v1',
        kind: 'KubernetesCluster',
        ...one,
      }));
      return { said: await kstatusOf(withKind, () => {}), wanted: reported.map(wantedOf) };
    },
  };
}
