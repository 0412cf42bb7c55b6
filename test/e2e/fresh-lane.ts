import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { dockerOrUndefined } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { remakeHost } from '#lab/hosts/up.ts';
import { untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';

/** Resets the lane before each file, so that failures do not spread: hosts belong to no cluster and are as new. */

const DELETION_MS = 5 * 60_000;
/** Except the last epoch, which the fence keeps. */
const AS_NEW = `! ls -A /etc/matryoshka 2> /dev/null | grep -qvx owner.json && ! [ -e /etc/kubernetes/manifests ] && ! [ -e /var/lib/etcd ] &&
  [ -w / ] && ! [ -e /etc/docker ] && ! mountpoint -q /var/lib/containerd/disk &&
  ! [ -e /var/tmp/etcd.yaml ] && ! [ -e /usr/local/sbin/kubeadm ] &&
  systemctl is-active -q ssh && ! nft list table inet fault 2> /dev/null && echo as new`;

const isAsNew = async ({ name }: LabHost): Promise<boolean> =>
  (await dockerOrUndefined(['exec', name, 'bash', '-c', AS_NEW])) === 'as new';

const awaken = async ({ name }: LabHost): Promise<void> => {
  await dockerOrUndefined(['unpause', name]);
  await dockerOrUndefined(['start', name]);
  await dockerOrUndefined(['exec', name, 'sh', '-c', 'nft delete table inet fault; systemctl restart ssh']);
};

/** Deletes clusters on hosts of this lane, and recreates hosts that are not as new. Prints which. */
export async function freshenLane(meta: Meta): Promise<void> {
  const ours = new Set(meta.hosts.map(({ ip }) => ip));
  const records = async () =>
    (await meta.client.list<HostRecord>(HOSTS, { namespace: 'matryoshka-system' })).items.filter(({ spec }) =>
      ours.has(spec.ip),
    );
  const owners = new Set((await records()).map(({ spec }) => spec.cluster));
  const { items } = await meta.client.list<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace: 'default' });
  const left = items.flatMap(({ metadata: { name = '' } }) => (owners.has(`default/${name}`) ? [name] : []));
  if (left.length > 0) await Promise.all(meta.hosts.map(awaken));
  for (const name of left) {
    console.log(`a file before has left cluster ${name}`);
    await meta.client.delete(KUBERNETES_CLUSTERS, { namespace: 'default', name });
    await untilCluster(meta, name, (one) => one === undefined, DELETION_MS);
  }
  for (const host of meta.hosts) {
    if (await isAsNew(host)) continue;
    console.log(`a file before has left something on ${host.name}`);
    await remakeHost(host);
    for (const { spec, metadata } of await records())
      if (spec.ip === host.ip)
        await meta.client.delete(HOSTS, { namespace: 'matryoshka-system', name: metadata.name ?? '' });
  }
}
