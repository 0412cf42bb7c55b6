import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PODS, type Pod, SECRETS, secretData } from '#api/core.ts';
import { nodeNameOf } from '#api/host.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { resourceOf } from '#bootstrap/manifests.ts';
import { servedNamespace } from '#bootstrap/objects.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { docker } from '#lab/hosts/docker.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';

const NAME = 'unheard';
const PATH = `/region/lab/cluster/${NAME}`;
const REST_PORT = 8443;
const OPERATION_MS = 10 * 60_000;
let meta: Meta;

const { host } = byNumber(() => meta);
/** Returns lists with one control plane and one worker. */
const lists = (...[first, second]: readonly [number, number]) => ({
  masterList: [{ ip: host(first).ip }],
  nodeList: [{ ip: host(second).ip }],
});
const nodes = () => [host(0), host(1)].map(({ ip }) => nodeNameOf({ ip })).sort();
const create = () =>
  meta.rest.raw('POST', PATH, {
    name: NAME,
    ...lists(0, 1),
    kubeadm: QUICK_KEYS,
    privateSSHKey: meta.privateKey,
  });

/** Returns the address of the pod that runs the operation's Job, when it has one. */
async function runsAt(): Promise<string> {
  const begun = await untilCluster(meta, NAME, (one) => Boolean(one?.status?.jobName), OPERATION_MS);
  const labelSelector = `batch.kubernetes.io/job-name=${begun?.status?.jobName}`;
  let ip = '';
  await seen('an address of the Job', async () => {
    const { items } = await meta.client.list<Pod>(PODS, { namespace: 'matryoshka-system', labelSelector });
    ip = items[0]?.status?.podIP ?? '';
    return ip !== '';
  });
  return ip;
}

/** The tests run at once, because the first one waits for minutes. */
describe.concurrent('a cluster whose objects in the meta cluster are lost', () => {
  beforeAll(async () => {
    meta = await openLane();
  });
  afterAll(async () => {
    await meta.rest.raw('DELETE', PATH);
    await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
    await meta.close();
  });
  it('is created though its report is lost, and its kubeconfig is fetched', async () => {
    await create();
    await faults.cutPod(meta.host, await runsAt(), REST_PORT);
    try {
      // The run retries for five minutes, and then puts the report into its termination message.
      const first = { namespace: 'matryoshka-system', name: host(0).ip };
      const joined = async () =>
        (await meta.client.find<HostRecord>(HOSTS, first))?.status?.state === 'Joined';
      await seen('the last words, read', joined, { boundMs: OPERATION_MS });
    } finally {
      await faults.mend(meta.host);
    }
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status).toMatchObject({ phase: 'Running', operation: { attempt: 1 } });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes());
  });

  it('is reset when its namespace is deleted', async () => {
    const namespace = 'tenant';
    const { client } = meta;
    await client.create(NAMESPACES, { metadata: { name: namespace } });
    for (const object of servedNamespace(namespace)) await client.create(resourceOf(object), object);
    await client.create(SECRETS, {
      metadata: { namespace, name: 'keys' },
      data: secretData({ 'ssh-privatekey': meta.privateKey }),
    });
    const wanted: KubernetesCluster = {
      metadata: { namespace, name: 'tenants', annotations: { [annotations.operation]: 'creating' } },
      spec: { cluster: { ...lists(2, 3), kubeadm: QUICK_KEYS, credentialsSecret: 'keys' } },
    };
    await client.create(KUBERNETES_CLUSTERS, wanted);
    const key = { namespace, name: 'tenants' };
    const phase = async () => (await client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, key)).status?.phase;
    const often = { boundMs: OPERATION_MS };
    await seen('it is Running', async () => (await phase()) === 'Running', often);
    await client.delete(NAMESPACES, { namespace: '', name: namespace });
    await seen(
      'the namespace is gone',
      async () => !(await client.find(NAMESPACES, { namespace: '', name: namespace })),
      often,
    );
    for (const { name } of [host(2), host(3)]) {
      const left = 'ls -d /etc/kubernetes /var/lib/kubelet /etc/containerd 2>/dev/null; true';
      expect(await docker(['exec', name, 'sh', '-c', left])).toBe('');
    }
  });
});
