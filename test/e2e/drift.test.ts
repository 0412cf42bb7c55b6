import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';

/** Hosts are changed by hand in many ways, a few at a time: each is told in time, and none that nobody made. */
const NAME = 'drift';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
/** A minute, and half of one more where all hosts share two processors. */
const TOLD_MS = 90_000;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(() => meta.close());

const { host, entries, sh } = byNumber(() => meta);

const asMade = (cluster: KubernetesCluster | undefined) =>
  findCondition(cluster?.status?.conditions, 'HostsAsMade');
const untilAsMade = (timeoutMs: number) =>
  untilCluster(meta, NAME, (cluster) => asMade(cluster)?.status === 'True', timeoutMs);

const CONFIG = '/etc/containerd/config.toml';
const UNITS = '/etc/systemd/system';
const SCHEDULER = '/etc/kubernetes/manifests/kube-scheduler.yaml';
const copied = (path: string, change: string): [string, string] => [
  `cp -a ${path} /root/kept-${basename(path)} && ${change}`,
  `cp -a --remove-destination /root/kept-${basename(path)} ${path} && rm /root/kept-${basename(path)}`,
];

/** The host, what is done there and what takes it back, and words that must be told. */
type Kind = [number, [string, string], string];
const KINDS: readonly Kind[] = [
  [1, copied(CONFIG, `echo '# x' >> ${CONFIG}`), `${CONFIG} changed`],
  [1, copied(CONFIG, `rm ${CONFIG}`), `${CONFIG} missing`],
  [1, [`chmod 600 ${CONFIG}`, `chmod 644 ${CONFIG}`], `${CONFIG} mode 600 instead of 644`],
  [1, [`chown 1:1 ${CONFIG}`, `chown 0:0 ${CONFIG}`], `${CONFIG} owner 1:1 instead of 0:0`],
  [1, copied(CONFIG, `mv ${CONFIG} /run/away && ln -s /run/away ${CONFIG}`), `${CONFIG} is a link`],
  [
    1,
    copied('/usr/local/bin/kubeadm', 'printf x >> /usr/local/bin/kubeadm'),
    '/usr/local/bin/kubeadm changed',
  ],
  [1, copied('/usr/local/bin/runc', 'rm /usr/local/bin/runc'), '/usr/local/bin/runc missing'],
  [1, copied('/opt/cni/bin/bridge', 'rm /opt/cni/bin/bridge'), '/opt/cni/bin/bridge missing'],
  [
    1,
    copied('/etc/cni/net.d/10-flannel.conflist', 'echo >> /etc/cni/net.d/10-flannel.conflist'),
    '10-flannel.conflist changed',
  ],
  [
    1,
    copied('/var/lib/kubelet/config.yaml', 'echo "# x" >> /var/lib/kubelet/config.yaml'),
    '/var/lib/kubelet/config.yaml changed',
  ],
  [
    1,
    copied(`${UNITS}/kubelet.service`, `echo '# x' >> ${UNITS}/kubelet.service`),
    'kubelet.service changed',
  ],
  [
    1,
    [
      `printf '[Service]\\nNice=1\\n' > ${UNITS}/kubelet.service.d/x.conf && systemctl daemon-reload`,
      `rm ${UNITS}/kubelet.service.d/x.conf && systemctl daemon-reload`,
    ],
    'unit kubelet.service changed by',
  ],
  [1, ['systemctl disable -q kubelet', 'systemctl enable -q kubelet'], 'unit kubelet.service not enabled'],
  [1, ['systemctl stop kubelet', 'systemctl start kubelet'], 'unit kubelet.service not running'],
  [
    1,
    ['systemctl stop containerd', 'systemctl start containerd kubelet'],
    'unit containerd.service not running',
  ],
  [
    1,
    ['sysctl -qw net.ipv4.ip_forward=0', 'sysctl -qw net.ipv4.ip_forward=1'],
    'net.ipv4.ip_forward is 0, was made 1',
  ],
  [
    1,
    copied('/etc/sysctl.d/99-matryoshka.conf', 'rm /etc/sysctl.d/99-matryoshka.conf'),
    '99-matryoshka.conf missing',
  ],
  [
    1,
    [
      'cat /etc/hosts > /root/kept && grep -v matryoshka /root/kept > /etc/hosts',
      'cat /root/kept > /etc/hosts && rm /root/kept',
    ],
    '/etc/hosts lines of the API servers changed',
  ],
  [
    1,
    copied('/usr/local/sbin/matryoshka-fence', 'rm /usr/local/sbin/matryoshka-fence'),
    'matryoshka-fence missing',
  ],
  [
    0,
    copied(SCHEDULER, `sed -i 's/--leader-elect=true/--leader-elect=true /' ${SCHEDULER}`),
    `${SCHEDULER} changed`,
  ],
  [
    0,
    ['chmod 644 /etc/kubernetes/pki/sa.key', 'chmod 600 /etc/kubernetes/pki/sa.key'],
    '/etc/kubernetes/pki/sa.key mode 644 instead of 600',
  ],
  [
    0,
    copied('/etc/kubernetes/admin.conf', 'echo "# x" >> /etc/kubernetes/admin.conf'),
    '/etc/kubernetes/admin.conf changed',
  ],
];

/** Several at once, as many as a condition names of a host; kinds that touch the same thing stand behind each other. */
const COUNT = 7;
const WAVES = Array.from({ length: COUNT }, (_, wave) => KINDS.filter((_kind, at) => at % COUNT === wave));

describe('hosts that somebody changes by hand', () => {
  it('are as they were made at first', async () => {
    const body = { name: NAME, masterList: entries(0), nodeList: entries(1) };
    expect(await meta.rest.raw('POST', PATH, { ...body, privateSSHKey: meta.privateKey })).toMatchObject({
      status: 200,
    });
    await untilDone(meta, NAME, OPERATION_MS);
    await untilAsMade(2 * TOLD_MS);
  });

  it.each(WAVES)('are told to be other, then as before: wave %#', async (...wave) => {
    const began = Date.now();
    try {
      for (const [index, [change]] of wave) await sh(index, change);
      const tells = (cluster: KubernetesCluster | undefined) => {
        const message = asMade(cluster)?.message ?? '';
        return wave.every(
          ([index, , says]) => message.includes(says) && message.includes(`(${meta.hosts[index]?.ip}): `),
        );
      };
      const cluster = await untilCluster(meta, NAME, tells, TOLD_MS);
      expect(asMade(cluster)?.status).toBe('False');
      console.log(
        `${wave.map(([, , says]) => says).join(', ')}: told after ${(Date.now() - began) / 1000} s`,
      );
    } finally {
      for (const [index, [, back]] of wave) await sh(index, back);
    }
    await untilAsMade(TOLD_MS);
  });

  it('differ in nothing by an operation, nor by themselves', async () => {
    const node = { ...entries(1)[0], labels: { 'example.com/rack': 'r1' } };
    expect(await meta.rest.raw('POST', `${PATH}/relabel`, { nodeList: [node] })).toMatchObject({
      status: 200,
    });
    await untilDone(meta, NAME, OPERATION_MS);
    const told: string[] = [];
    await untilCluster(
      meta,
      NAME,
      (cluster) => {
        told.push(asMade(cluster)?.status ?? 'absent');
        return false;
      },
      2 * TOLD_MS,
    ).catch(() => undefined);
    expect([...new Set(told)]).toEqual(['True']);
  });

  it('go, and are as they were before', async () => {
    expect((await meta.rest.raw('DELETE', PATH)).status).toBe(200);
    await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
    // What this test has put there itself.
    for (const index of [0, 1]) await sh(index, 'rm -f /root/kept /root/away');
    for (const index of [0, 1]) expect(await traces(index), host(index).name).toEqual([]);
  });
});
