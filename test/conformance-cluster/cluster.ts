import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { isResultValue } from '#api/operation-values.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';

export const NAME = 'upstream';
const PATH = `/region/lab/cluster/${NAME}`;
/** An upgrade takes minutes for each control plane. */
const OPERATION_MS = 40 * 60_000;

type Lists = Partial<Record<'masterList' | 'nodeList' | 'etcdList', readonly LabHost[]>> & {
  readonly version?: string;
};

/** A change of the cluster by REST, and the expected state after it. */
export interface Change {
  readonly route: 'scaleup' | 'scaledown' | 'replace' | 'etcd/move' | 'update';
  readonly body: Readonly<Record<string, unknown>>;
  readonly stands: Lists;
}

const entries = (hosts: readonly LabHost[]) => hosts.map(({ ip }) => ({ ip }));

/** Returns the cluster of an earlier run, if there is one, after its current operation has ended. */
const atRest = (meta: Meta): Promise<KubernetesCluster | undefined> =>
  untilCluster(
    meta,
    NAME,
    (one) =>
      one === undefined ||
      (one.metadata.deletionTimestamp === undefined &&
        isResultValue(one.metadata.annotations?.[annotations.operation] ?? '')),
    OPERATION_MS,
  );

/** Creates the cluster if it does not exist. */
export async function made(
  meta: Meta,
  kubeVersion: string,
  masters: readonly LabHost[],
  workers: readonly LabHost[],
  say: Say,
): Promise<void> {
  const found = await atRest(meta);
  // Only a cluster that was created has a version; later changes are the changes' own steps.
  if (found?.status?.version !== undefined) return;
  const lists = { masterList: entries(masters), nodeList: entries(workers) };
  // A failed spec may have left pods without a controller.
  const drain = { force: true, deleteEmptyDirData: true };
  const body = { name: NAME, kubeVersion, ...lists, drain, privateSSHKey: meta.privateKey };
  await asked(meta, PATH, body, found, `${masters.length} control planes, ${workers.length} workers`, say);
}

/** Makes a change unless the cluster already has the expected state. */
export async function changed(meta: Meta, name: string, change: Change, say: Say): Promise<void> {
  const found = await atRest(meta);
  if (!found) throw new Error(`cluster ${NAME} is gone`);
  if (found.status?.phase === 'Running' && standsAs(found, change.stands)) return;
  await asked(meta, `${PATH}/${change.route}`, change.body, found, name, say);
  const now = await present(meta);
  if (!standsAs(now, change.stands)) throw new Error(`${name}: the cluster stands otherwise than was asked`);
}

/** Returns the hosts that are nodes of the cluster. */
export async function nodeHosts(meta: Meta): Promise<LabHost[]> {
  const { masterList = [], nodeList = [] } = (await present(meta)).spec.cluster;
  const addresses = new Set([...masterList, ...nodeList].map(({ ip }) => ip));
  return meta.hosts.filter(({ ip }) => addresses.has(ip));
}

/** Returns the uid, which differs from that of an earlier cluster with the same name. */
export async function clusterUid(meta: Meta): Promise<string> {
  return (await present(meta)).metadata.uid ?? '';
}

const present = ({ client }: Meta): Promise<KubernetesCluster> =>
  client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace: 'default', name: NAME });

function standsAs({ spec: { cluster }, status }: KubernetesCluster, lists: Lists): boolean {
  if (lists.version !== undefined && status?.version !== lists.version) return false;
  const sorted = (hosts: readonly { ip?: string | undefined }[] = []) =>
    hosts
      .map(({ ip }) => ip)
      .sort()
      .join(' ');
  return (['masterList', 'nodeList', 'etcdList'] as const).every(
    (list) => lists[list] === undefined || sorted(lists[list]) === sorted(cluster[list]),
  );
}

async function asked(
  meta: Meta,
  path: string,
  body: Readonly<Record<string, unknown>>,
  found: KubernetesCluster | undefined,
  what: string,
  say: Say,
): Promise<void> {
  // An operation that an earlier run did not finish is requested again.
  const retry = found !== undefined && found.status?.phase !== 'Running' ? { retry: true } : {};
  await announced(say, what, async () => {
    const { status, body: answer } = await meta.rest.raw('POST', path, { ...body, ...retry });
    if (status !== 200) throw new Error(`POST ${path} was answered by ${status} ${JSON.stringify(answer)}`);
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    if (cluster.status?.phase !== 'Running') throw new Error(`${what}: phase ${cluster.status?.phase}`);
  });
}
