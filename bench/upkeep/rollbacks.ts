import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { isResultValue } from '#api/operation-values.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { NAME, PATH } from '../ours.ts';
import { timed, versions } from './upgrades.ts';

/** Rollbacks of upgrades that were cancelled at each step that changes hosts. */

const OPERATION_MS = 30 * 60_000;
const STEPS = [
  'Upgrade the first control plane',
  'Upgrade further control planes',
  'Upgrade the leading control plane',
  'Upgrade the pod network',
  'Upgrade workers',
] as const;

const until = (meta: Meta, holds: (operation: Operation | undefined, word: string) => boolean) =>
  untilCluster(
    meta,
    NAME,
    (cluster) =>
      holds(cluster?.status?.operation, cluster?.metadata.annotations?.[annotations.operation] ?? ''),
    OPERATION_MS,
  );
type Operation = NonNullable<NonNullable<KubernetesCluster['status']>['operation']>;

/** Begins an upgrade, and cancels it at that step. Resolves when it has stopped. */
async function cancelled(meta: Meta, step: string): Promise<void> {
  const { status, body } = await meta.rest.raw('POST', `${PATH}/update`, { kubeVersion: versions().to });
  if (status !== 200) throw new Error(`POST update was answered by ${status} ${JSON.stringify(body)}`);
  const of = (operation: Operation | undefined) => operation?.name === 'update';
  await until(meta, (one) => of(one) && (one?.step === step || one?.result !== undefined));
  await meta.rest.raw('POST', `${PATH}/cancel`, {});
  // The annotation follows status by a moment; until then, another request is too early.
  await until(meta, (one, word) => of(one) && one?.result !== undefined && isResultValue(word));
  const { status: now } = await meta.client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    namespace: 'default',
    name: NAME,
  });
  if (now?.operation?.result !== 'cancelled')
    throw new Error(`the upgrade ended as ${now?.operation?.result}: ${now?.message}`);
}

/** Returns the seconds of a rollback from each step, in their order. Rejects if a node has another version afterwards. */
export async function rollbacks(meta: Meta, [master]: readonly LabHost[], say: Say): Promise<number[]> {
  if (!master) throw new Error('a cluster without a control plane');
  const found: number[] = [];
  for (const step of STEPS) {
    await cancelled(meta, step);
    const seconds = await timed(meta, 'rollback', {}, say);
    const kubelets = await docker([
      ...['exec', master.name, 'kubectl', '--kubeconfig=/etc/kubernetes/admin.conf', 'get', 'nodes'],
      ...['-o', 'jsonpath={.items[*].status.nodeInfo.kubeletVersion}'],
    ]);
    const others = kubelets.split(' ').filter((version) => version !== versions().from);
    if (others.length > 0) throw new Error(`after a rollback from "${step}" nodes have ${others.join(', ')}`);
    say(`rollback from "${step}": ${seconds.toFixed(1)} s`);
    found.push(seconds);
  }
  return found;
}
