import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { docker } from '#lab/hosts/docker.ts';
import { ip6Of } from '#lab/hosts/places.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { membersOn } from './etcd-members.ts';
import { familiesOfNode, serviceIpsOf } from './families.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';
import { answersAt, type TalkingPod, talkingPod } from './pods-that-talk.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

/**
 * A cluster without IPv4 is repaired. Hosts are changed by hand, including control planes; one operation restores all of it
 * without harm. Then the first control plane stays away, and a spare host replaces it automatically.
 */
const NAME = 'repaired';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 12 * 60_000;
/** A minute, and half a minute more because all hosts share two processors. */
const REPORT_MS = 90_000;
/** Longer than two checks, each half a minute after the one before. */
const SEEN_MS = 3 * 60_000;
const [DEAD, WORKER, SPARE] = [0, 3, 4];
const ALL = [0, 1, 2, WORKER];

let meta: Meta;
let client: Client | undefined;
let web: TalkingPod;
let traces: (index: number) => Promise<string[]>;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;

beforeAll(async () => {
  meta = await openLane();
  // Leftover of an earlier run that failed.
  await sh(2, 'rm -f /root/ca.key');
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await client?.close();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta, ip6Of);
const ipOf = (index: number) => ip6Of(host(index));

const asMade = (cluster: KubernetesCluster | undefined) =>
  findCondition(cluster?.status?.conditions, 'HostsAsMade');
const untilAsMade = () =>
  untilCluster(meta, NAME, (cluster) => asMade(cluster)?.status === 'True', 2 * REPORT_MS);
const untilReported = (...indices: number[]) =>
  untilCluster(
    meta,
    NAME,
    (cluster) => {
      const { status, message = '' } = asMade(cluster) ?? {};
      return status === 'False' && indices.every((index) => message.includes(`(${ipOf(index)}): `));
    },
    REPORT_MS,
  );
const ask = async () =>
  expect(await meta.rest.raw('POST', `${PATH}/repair`, {})).toMatchObject({ status: 200 });
const repaired = async () => {
  await ask();
  await untilDone(meta, NAME, OPERATION_MS);
  await untilAsMade();
  // A restarted kubelet reports its node as Ready only with its next status update.
  await expect
    .poll(() => readyNodesOf(meta, NAME), { timeout: 30_000, interval: 1_000 })
    .toEqual(nodes(...ALL));
};
const kubelet = (index: number) => sh(index, 'systemctl show -P MainPID kubelet');
const serves = (index: number) => sh(index, 'curl -gsk -m 5 https://[::1]:6443/readyz || true');

const CONFIG = '/etc/containerd/config.toml';
const UNITS = '/etc/systemd/system';
const K8S = '/etc/kubernetes';
const DROP_IN = `${UNITS}/kubelet.service.d/x.conf`;

/** Changes on a worker; on control planes they are made one host at a time. */
const OF_A_WORKER = [
  `echo '# x' >> ${CONFIG}`,
  `chmod 600 ${UNITS}/containerd.service`,
  'printf x >> /usr/local/bin/kubeadm',
  'rm /usr/local/bin/runc',
  'rm /opt/cni/bin/bridge',
  'printf x >> /opt/cni/bin/flannel',
  'echo >> /etc/cni/net.d/10-flannel.conflist',
  'echo "# x" >> /var/lib/kubelet/config.yaml',
  `echo '# x' >> ${UNITS}/kubelet.service`,
  `printf '[Service]\\nNice=1\\n' > ${DROP_IN}`,
  'systemctl daemon-reload',
  'systemctl disable -q kubelet',
  'systemctl stop kubelet',
  'sysctl -qw net.ipv6.conf.all.forwarding=0',
  'rm /etc/sysctl.d/99-matryoshka.conf',
  'echo "# x" >> /etc/matryoshka/balancer/haproxy.cfg',
  'cat /etc/hosts > /run/hosts && grep -v matryoshka /run/hosts > /etc/hosts; rm /run/hosts',
  `rm ${K8S}/pki/ca.crt`,
  'rm /usr/local/sbin/matryoshka-fence',
];
const OF_CONTROL_PLANES: readonly (readonly string[])[] = [
  [
    `sed -i 's/--leader-elect=true/--leader-elect=true /' ${K8S}/manifests/kube-scheduler.yaml`,
    `chmod 644 ${K8S}/pki/sa.key`,
    `echo '# x' >> ${K8S}/admin.conf`,
  ],
  // Without its API server the host cannot be repaired further, so the repair restores that first.
  [`rm ${K8S}/manifests/kube-apiserver.yaml`, `rm ${K8S}/pki/apiserver.key ${K8S}/pki/apiserver.crt`],
  [
    `echo '# x' >> ${K8S}/manifests/etcd.yaml`,
    `echo '# x' >> ${K8S}/controller-manager.conf`,
    `rm ${K8S}/pki/front-proxy-client.crt ${K8S}/pki/etcd/healthcheck-client.key`,
  ],
];

/** Returns a pod on the node of that host, connected through the cluster's current kubeconfig. */
async function podOn(name: string, index: number): Promise<TalkingPod> {
  await client?.close();
  client = await clientOf(await kubeconfigOf(meta, NAME));
  const at = { host: host(index), nodeName: nodes(index)[0] ?? '' };
  return talkingPod(client, { namespace: `of-${name}`, name, labels: { app: name } }, at);
}
const untilAnswered = (from: TalkingPod, address: string, where?: string) =>
  seen(`${from.name} to be answered by ${address}`, () => answersAt(from, address, where));

describe('an IPv6-only cluster', () => {
  it('is created with three control planes', async () => {
    const cidrs = { podCIDR: 'fd00:10:244::/56', serviceCIDR: 'fd00:10:96::/112' };
    const lists = { masterList: entries(0, 1, 2), nodeList: entries(WORKER) };
    const body = { name: NAME, ...lists, ...cidrs, kubeadm: QUICK_KEYS };
    expect(await meta.rest.raw('POST', PATH, { ...body, privateSSHKey: meta.privateKey })).toMatchObject({
      status: 200,
    });
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(...ALL));
  });

  it('reaches pods of two nodes, and a Service, and has no IPv4 on any node', async () => {
    web = await podOn('web', WORKER);
    expect(web.ips).toEqual([expect.stringMatching(/^fd00:10:244:/)]);
    const far = await podOn('far', 1);
    await untilAnswered(far, web.ip);
    const made = await clientOf(await kubeconfigOf(meta, NAME));
    const clusterIPs = await serviceIpsOf(made, web.namespace, 'web');
    expect(clusterIPs).toEqual([expect.stringMatching(/^fd00:10:96::/)]);
    await untilAnswered(far, clusterIPs[0] ?? '', '80/health');
    for (const index of [0, WORKER]) {
      const { cidrs, addresses } = await familiesOfNode(made, nodes(index)[0] ?? '');
      expect(cidrs).toEqual([expect.stringMatching(/^fd00:10:244:.*\/64$/)]);
      expect(addresses).toEqual([ipOf(index)]);
    }
    await made.close();
    expect(await sh(0, 'cat /etc/kubernetes/manifests/*.yaml')).not.toMatch(/10\.88\.0\.\d/);
    expect(await sh(WORKER, 'grep matryoshka /etc/hosts')).toMatch(/^::1 /);
  });
});

describe('hosts that a user changed by hand', () => {
  it('match the baseline at first', async () => {
    await untilAsMade();
  });

  it('are repaired on a worker, without a restart on other hosts', async () => {
    await sh(WORKER, OF_A_WORKER.join('\n'));
    const reported = await untilReported(WORKER);
    expect(asMade(reported)?.message).toContain('"repairing"');
    const before = await Promise.all([0, 1, 2].map(kubelet));
    await asPlanned(meta, NAME, repaired, { addressOf: ip6Of });
    // A repair restarts nothing on hosts without differences.
    expect(await Promise.all([0, 1, 2].map(kubelet))).toEqual(before);
    expect(await sh(WORKER, `cat ${DROP_IN}.set-aside`)).toContain('Nice=1');
    await sh(WORKER, `rm ${DROP_IN}.set-aside`);
  });

  it('are repaired on three control planes while the cluster stays Ready', async () => {
    for (const [index, changes] of OF_CONTROL_PLANES.entries()) await sh(index, changes.join('\n'));
    await untilReported(0, 1, 2);
    const unready: string[] = [];
    const watching = untilCluster(
      meta,
      NAME,
      (cluster) => {
        const ready = findCondition(cluster?.status?.conditions, 'Ready');
        if (ready?.status !== 'True') unready.push(`${ready?.status} ${ready?.message}`);
        return cluster?.status?.operation?.name === 'repair' && cluster.status.operation.result !== undefined;
      },
      OPERATION_MS,
    );
    await asPlanned(meta, NAME, repaired, { addressOf: ip6Of });
    await watching;
    expect(unready).toEqual([]);
    const made = `{ cat ${K8S}/pki/apiserver.key; sed -n 's/.*client-key-data: //p' ${K8S}/controller-manager.conf | base64 -d; }`;
    for (const index of [1, 2])
      expect(await sh(index, `${made} | grep -c 'BEGIN EC PRIVATE KEY'`), host(index).name).toBe('2');
    expect(await Promise.all([0, 1, 2].map(serves))).toEqual(['ok', 'ok', 'ok']);
  });

  it('get a lost key of an authority from another control plane', async () => {
    const key = `${K8S}/pki/ca.key`;
    const sum = await sh(2, `sha256sum < ${key}; stat -c %a:%U ${key}; rm ${key} ${K8S}/pki/sa.key`);
    await untilReported(2);
    await repaired();
    expect(await sh(2, `sha256sum < ${key}; stat -c %a:%U ${key}`)).toBe(sum);
    expect(await sh(2, `cat ${K8S}/pki/sa.key`)).toBe(await sh(0, `cat ${K8S}/pki/sa.key`));
    expect(await Promise.all([0, 1, 2].map(serves))).toEqual(['ok', 'ok', 'ok']);
  });

  it('are repaired on a worker without state', async () => {
    await sh(
      WORKER,
      `systemctl stop kubelet; grep -o '/var/lib/kubelet/[^ ]*' /proc/mounts | sort -r | xargs -r umount -l
rm -rf /var/lib/kubelet/* ${K8S}/*`,
    );
    // The drift agent reports with the kubelet's certificate, which is gone too.
    await untilSays('HostsReachable', 'False NodeNotReady');
    await asPlanned(meta, NAME, repaired, { addressOf: ip6Of });
  });

  it('get data of etcd from the others after a disk was lost, and begin no empty etcd', async () => {
    // The first one's manifest names no other member.
    for (const lost of [0, 1]) {
      const disk = '/var/lib/etcd';
      await sh(
        lost,
        `systemctl stop kubelet; rm -r ${disk}/member; pkill -KILL -x etcd; systemctl start kubelet`,
      );
      await untilCluster(
        meta,
        NAME,
        (cluster) => findCondition(cluster?.status?.conditions, 'EtcdHealthy')?.status === 'False',
        REPORT_MS,
      );
      expect(await serves(lost)).not.toBe('ok');
      await repaired();
      expect(await membersOn(host(2))).toEqual(nodes(0, 1, 2));
      expect(await Promise.all([0, 1, 2].map(serves))).toEqual(['ok', 'ok', 'ok']);
    }
  });

  it('stay unchanged if the key of the authority is another, and the others are repaired', async () => {
    await sh(
      2,
      `cp -p ${K8S}/pki/ca.key /root/ca.key && echo >> ${K8S}/pki/ca.key && echo '# x' >> ${CONFIG}`,
    );
    await sh(WORKER, `echo '# x' >> ${CONFIG}`);
    await untilReported(2, WORKER);
    const before = await kubelet(2);
    await ask();
    const failed = await untilCluster(
      meta,
      NAME,
      (cluster) => cluster?.status?.operation?.result === 'failed',
      OPERATION_MS,
    );
    expect(failed?.status?.message).toMatch(/pki\/ca\.key changed; nothing was changed on this host/);
    expect(failed?.status?.message).toContain(ipOf(2));
    expect(await sh(WORKER, `tail -1 ${CONFIG}`)).not.toBe('# x');
    expect(await sh(2, `tail -1 ${CONFIG}`)).toBe('# x');
    expect(await kubelet(2)).toBe(before);
    expect(await Promise.all([0, 1, 2].map(serves))).toEqual(['ok', 'ok', 'ok']);
    await sh(2, `mv /root/ca.key ${K8S}/pki/ca.key`);
    await repaired();
  });
});

const says = (cluster: KubernetesCluster | undefined, type: string): string => {
  const found = findCondition(cluster?.status?.conditions, type);
  return `${found?.status} ${found?.reason}`;
};
const untilSays = (type: string, wanted: string, timeoutMs = SEEN_MS) =>
  untilCluster(meta, NAME, (cluster) => says(cluster, type) === wanted, timeoutMs);

describe('a cluster with a spare host', () => {
  it('is ready for remediation, and starts nothing', async () => {
    history = await beginHistory(meta, NAME, host(WORKER));
    const policy = { replaceFrom: entries(SPARE), replaceAfterMinutes: 1 };
    const key = { namespace: 'default', name: NAME };
    await meta.client.patch(KUBERNETES_CLUSTERS, key, { spec: { policy } }, { type: 'merge' });
    const ready = await untilSays('RemediationReady', 'True NobodyAway');
    // A remediation policy alone starts nothing.
    expect(ready?.metadata.annotations?.[annotations.operation]).toBe('repair-finished');
    expect(says(ready, 'UpToDate')).toBe('True Applied');
    const types = ['Ready', 'HostsReachable', 'ControlPlaneHealthy', 'EtcdHealthy', 'CertificatesValid'];
    const areTrue = (one: KubernetesCluster | undefined) =>
      types.every((type) => findCondition(one?.status?.conditions, type)?.status === 'True');
    expect((await untilCluster(meta, NAME, areTrue, SEEN_MS))?.status?.nodes).toEqual({ ready: 4, total: 4 });
  });

  it('replaces a control plane that stays away, without a request', async () => {
    await faults.pause(host(DEAD));
    try {
      await untilSays('RemediationReady', 'True ControlPlaneAway');
      const cluster = await untilCluster(
        meta,
        NAME,
        (one) => /^replace-/.test(one?.metadata.annotations?.[annotations.operation] ?? ''),
        OPERATION_MS,
      );
      expect(cluster?.status).toMatchObject({ phase: 'Running', operation: { result: 'finished' } });
      expect(cluster?.spec.cluster.masterList).toHaveLength(3);
      expect(cluster?.spec.cluster.masterList).toEqual(expect.arrayContaining(entries(1, 2, SPARE)));
      expect(cluster?.spec.policy?.replaceFrom).toEqual([]);
      expect(cluster?.metadata.annotations).toMatchObject({ [annotations.requestedBy]: 'remediation' });
      expect(says(cluster, 'RemediationReady')).toBe('False NoSpareHost');
      expect(await readyNodesOf(meta, NAME)).toEqual(nodes(1, 2, WORKER, SPARE));
      await untilSays('ControlPlaneHealthy', 'True AllReady');
      // A probe may have reported the time with two members; only two probes in a row change the message.
      const ofEtcd = (one: KubernetesCluster | undefined) =>
        findCondition(one?.status?.conditions, 'EtcdHealthy');
      await untilCluster(
        meta,
        NAME,
        (one) => /^every member is healthy: 3,/.test(ofEtcd(one)?.message ?? ''),
        SEEN_MS,
      );
      const late = await podOn('late', SPARE);
      await untilAnswered(late, web.ip);
      await untilAnswered(web, late.ip);
    } finally {
      await docker(['unpause', host(DEAD).name]);
    }
  });

  it('adds the returned control plane again, in the place of the spare', async () => {
    // The talking pod has no controller.
    const body = { from: ipOf(SPARE), to: entries(DEAD)[0], drain: { force: true } };
    expect(await meta.rest.raw('POST', `${PATH}/replace`, body)).toMatchObject({ status: 200 });
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(...ALL));
    expect(await membersOn(host(1))).toEqual(nodes(1, 2, DEAD));
    expect(await traces(SPARE)).toEqual([]);
  });

  it('is deleted after no request failed, and leaves no trace on its hosts', async () => {
    await history?.end();
    // Proves that the checks below would find something.
    expect(await sh(WORKER, 'ip -6 route; nft list tables')).toMatch(/flannel-v6\.1[\s\S]*table ip6 nat/);
    await deleteCluster(meta, NAME);
    for (const index of meta.hosts.keys()) expect(await traces(index), host(index).name).toEqual([]);
  });
});
