import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { nodeNameOf } from '#api/host.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { docker } from '#lab/hosts/docker.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { askService } from '#lab/meta/web.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { makeExample } from './examples.ts';
import { openLane } from './lanes.ts';
import { asPlanned, dryRun } from './plan-and-result.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

const NAME = 'external-etcd';
const PATH = `/region/default/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
/** Longer than two checks, each half a minute after the one before. */
const REPORT_MS = 3 * 60_000;

/** Certificates of an external member, with their keys. */
const PAIRS = ['server.crt', 'server.key', 'peer.crt', 'peer.key'].map(
  (file) => `/etc/matryoshka/etcd/${file}`,
);

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await meta.close();
});

const { host, entries, nodes } = byNumber(() => meta);
const on = (index: number, ...command: string[]) => docker(['exec', host(index).name, ...command]);

/**
 * Returns addresses of etcd's members, as the one on a separate host lists them; a learner has `learner` behind its address.
 */
async function membersAt(index: number): Promise<string[]> {
  const script =
    'd=/etc/matryoshka/etcd; /var/lib/matryoshka/etcd/usr/local/bin/etcdctl --cacert $d/ca.crt --cert $d/server.crt --key $d/server.key member list -w simple';
  const lines = (await on(index, 'sh', '-c', script)).trim().split('\n');
  return lines
    .map((line) => line.split(', '))
    .map(([, , , peer = '', , learner]) => `${new URL(peer).hostname}${learner === 'true' ? ' learner' : ''}`)
    .sort();
}
const addresses = (...indices: number[]) =>
  entries(...indices)
    .map(({ ip }) => ip)
    .sort();

async function done(method: 'POST' | 'DELETE', path: string, body: Record<string, unknown>): Promise<void> {
  const plan = await dryRun(meta, method, path, body);
  const act = async () => {
    expect(await meta.rest.raw(method, path, body)).toMatchObject({ status: 200 });
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status).toMatchObject({ phase: 'Running' });
  };
  await asPlanned(meta, NAME, act, { plan });
}

describe('a cluster with external etcd', () => {
  it('is created from the example, and etcd hosts are no nodes', async () => {
    await asPlanned(meta, NAME, () => makeExample('external-etcd.yaml', meta, [0, 2, 3, 4, 1]));
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
    expect(await membersAt(2)).toEqual(addresses(2, 3, 4));
    expect((await on(0, 'ls', '/etc/kubernetes/manifests')).split('\n')).not.toContain('etcd.yaml');
    expect(await on(2, 'sh', '-c', 'systemctl is-active kubelet || true')).not.toContain('\nactive');
    const made = await clientOf(await kubeconfigOf(meta, NAME));
    expect(await askService(made, meta.hosts[1]?.ip ?? '')).toContain('HTTP 200');
    await made.close();
  });

  it('removes its only worker', async () => {
    await done('POST', `${PATH}/scaledown`, { nodeList: [], allowEmpty: true });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0));
    expect(await traces(1)).toEqual([]);
    history = await beginHistory(meta, NAME, host(0));
  });

  it('reports a member that does not answer, until it does', async () => {
    const says = async (wanted: RegExp) => {
      const reported = (cluster: KubernetesCluster | undefined) => {
        const found = findCondition(cluster?.status?.conditions, 'EtcdHealthy');
        return wanted.test(`${found?.status} ${found?.reason}: ${found?.message}`);
      };
      await untilCluster(meta, NAME, reported, REPORT_MS);
    };
    await says(/^True AllHealthy: every member is healthy: 3,/);
    await faults.pause(host(4));
    try {
      const [sick = ''] = entries(4).map(nodeNameOf);
      await says(
        new RegExp(`^False Degraded: 2 of 3 .*; not healthy: ${sick} \\(to .*: does not answer\\)$`),
      );
    } finally {
      await docker(['unpause', host(4).name]);
    }
    await says(/^True AllHealthy/);
  });

  it('reports hosts that a user changed, and a repair restores them', async () => {
    const says = async (wanted: RegExp) => {
      const reported = (cluster: KubernetesCluster | undefined) => {
        const found = findCondition(cluster?.status?.conditions, 'HostsAsMade');
        return wanted.test(`${found?.status}: ${found?.message}`);
      };
      await untilCluster(meta, NAME, reported, REPORT_MS);
    };
    const unit = '/etc/systemd/system/matryoshka-etcd.service';
    const programs = '/var/lib/matryoshka/etcd/usr/local/bin';
    const apiServer = '/etc/kubernetes/manifests/kube-apiserver.yaml';
    const [pointed = '', edited = '', stopped = '', other = ''] = entries(0, 2, 3, 4).map(({ ip }) =>
      ip.replaceAll('.', '\\.'),
    );
    await says(/^True/);
    await on(0, 'sed', '-i', 's/--secure-port=6443/& /', apiServer);
    await on(2, 'sh', '-c', `echo '# mine' >> ${unit}; echo x >> ${programs}/etcdutl`);
    await on(3, 'systemctl', 'disable', '--now', 'matryoshka-etcd');
    await on(4, 'sh', '-c', 'echo x > /etc/matryoshka/etcd/ca.crt');
    await says(
      new RegExp(
        `^(?=.*\\(${pointed}\\): [^;]*kube-apiserver\\.yaml changed).*\\(${edited}\\): (?=.*matryoshka-etcd.service changed).*etcdutl changed.*\\(${stopped}\\): unit matryoshka-etcd.service not enabled, not running.*\\(${other}\\): /etc/matryoshka/etcd/ca.crt changed`,
      ),
    );
    await done('POST', `${PATH}/repair`, {});
    for (const index of [2, 3, 4])
      expect(await on(index, 'systemctl', 'is-active', 'matryoshka-etcd')).toContain('active');
    expect(await on(2, 'cat', unit)).not.toContain('# mine');
    const manifest = await on(0, 'grep', '-e', '--secure-port', '-e', '--etcd-servers', apiServer);
    for (const ip of addresses(2, 3, 4)) expect(manifest).toContain(`https://${ip}:2379`);
    expect(manifest).not.toContain('6443 ');
    await says(/^True/);
  });

  it('replaces a member that has lost its data, on the same host', async () => {
    await on(3, 'sh', '-c', 'rm -r /var/lib/etcd/member; pkill -KILL -x etcd');
    await seen(
      'etcd to end',
      async () =>
        !(await on(3, 'systemctl', 'is-active', 'matryoshka-etcd').catch(() => '')).includes('\nactive'),
    );
    await done('POST', `${PATH}/repair`, {});
    expect(await membersAt(2)).toEqual(addresses(2, 3, 4));
    expect(await on(3, 'matryoshka-watch', 'differences')).toBe('');
  });

  it('replaces its first member while that runs', async () => {
    const [from, to] = [meta.hosts[2]?.ip, { ip: meta.hosts[1]?.ip }];
    await done('POST', `${PATH}/replace`, { from, to });
    expect(await membersAt(3)).toEqual(addresses(1, 3, 4));
    expect(await traces(2)).toEqual([]);
  });

  it('renews the certificates of its members', async () => {
    const sums = (index: number) => on(index, 'sha256sum', ...PAIRS);
    const before = await Promise.all([1, 3, 4].map(sums));
    await done('POST', `${PATH}/renew`, {});
    for (const [at, index] of [1, 3, 4].entries()) {
      const now = (await sums(index)).split('\n');
      expect(now).toHaveLength(PAIRS.length);
      for (const line of now) expect(before[at], host(index).name).not.toContain(line);
      expect(await on(index, 'matryoshka-watch', 'differences'), host(index).name).toBe('');
    }
    expect(await membersAt(3)).toEqual(addresses(1, 3, 4));
  });

  it('scales etcd down to one member, and leaves no trace on a freed host', async () => {
    await done('POST', `${PATH}/scaledown`, { etcdList: entries(3) });
    expect(await membersAt(3)).toEqual(addresses(3));
    expect(await traces(1)).toEqual([]);
  });

  it('removes a new member from etcd that does not catch up', async () => {
    const body = { etcdList: entries(1, 2, 3) };
    expect(await meta.rest.raw('POST', `${PATH}/scaleup`, body)).toMatchObject({ status: 200 });
    // The port is blocked only after the precheck, which would report it.
    for (const index of [1, 2]) await seen('the fence', () => faults.isTaken(host(index)), { everyMs: 100 });
    for (const index of [1, 2]) await faults.cutFrom(host(index), host(3).ip, 2380);
    try {
      const failed = await untilCluster(meta, NAME, (one) => one?.status?.phase === 'Failed', OPERATION_MS);
      expect(failed?.status?.message).toMatch(
        /did not catch up with etcd within \d+ s and was taken out again/,
      );
      expect(await membersAt(3)).toEqual(addresses(3));
    } finally {
      for (const index of [1, 2]) await faults.mend(host(index));
    }
  });

  it('scales etcd up to three members again', async () => {
    await done('POST', `${PATH}/scaleup`, { etcdList: entries(1, 2, 3), retry: true });
    expect(await membersAt(3)).toEqual(addresses(1, 2, 3));
  });

  it('moves etcd beside the control plane, and leaves no trace on the etcd hosts', async () => {
    await done('POST', `${PATH}/etcd/move`, { etcdList: [] });
    expect((await on(0, 'ls', '/etc/kubernetes/manifests')).split('\n')).toContain('etcd.yaml');
    for (const index of [1, 2, 3]) expect(await traces(index)).toEqual([]);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0));
  });

  it('has a linearizable history, though its API server restarted at times', async () => {
    await history?.end({ failing: true });
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    await deleteCluster(meta, NAME, 'default');
    for (const index of [0, 1, 2, 3, 4]) expect(await traces(index), host(index).name).toEqual([]);
  });
});
