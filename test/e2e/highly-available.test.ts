import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { docker } from '#lab/hosts/docker.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { askService } from '#lab/meta/web.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { pointed, timesHandedOver } from './etcd-members.ts';
import { makeExample } from './examples.ts';
import { joinEnds } from './join-ends.ts';
import { openLane } from './lanes.ts';
import { asPlanned, dryRun } from './plan-and-result.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

const NAME = 'highly-available';
const PATH = `/region/default/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
/** Longer than two checks, each half a minute after the one before. */
const REPORT_MS = 3 * 60_000;

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

const entries = (first: number, last: number) => meta.hosts.slice(first, last).map(({ ip }) => ({ ip }));
const nodes = (last: number) => entries(0, last).map(nodeNameOf).sort();
const { host } = byNumber(() => meta);
const on = (index: number, ...command: string[]) => docker(['exec', host(index).name, ...command]);

const stateOfHost = async (ip = '') =>
  (await meta.client.list<HostRecord>(HOSTS, { namespace: 'matryoshka-system' })).items.find(
    ({ spec }) => spec.ip === ip,
  )?.status?.state;

/** Requests the API as a worker's kubelet does: by the cluster's endpoint name. */
async function readyThroughEndpoint(worker: number, withinSeconds = 3): Promise<string> {
  const script = `name=$(awk '/matryoshka/ { print $2; exit }' /etc/hosts); curl -sk -m ${withinSeconds} "https://$name:6443/readyz"`;
  return on(worker, 'sh', '-c', script).catch(() => 'no answer');
}

/** Waits until conditions of these types have this status. */
const untilReported = (status: string, ...types: string[]) =>
  untilCluster(
    meta,
    NAME,
    (cluster) =>
      types.every((type) =>
        cluster?.status?.conditions?.some((one) => one.type === type && one.status === status),
      ),
    REPORT_MS,
  );
const HEALTHY = ['Ready', 'HostsReachable', 'ControlPlaneHealthy', 'EtcdHealthy', 'CertificatesValid'];

describe('a cluster of three control planes', () => {
  it('is created from the example, with every node Ready and a Service that answers', async () => {
    await asPlanned(meta, NAME, () => makeExample('highly-available.yaml', meta, [0, 1, 2, 3]));
    const { status } = (await untilCluster(meta, NAME, Boolean, 10_000)) ?? {};
    expect(status).toMatchObject({ phase: 'Running', version: labReleases[0].kubernetes });
    const made = await clientOf(await kubeconfigOf(meta, NAME));
    expect(await askService(made, meta.hosts[3]?.ip ?? '')).toContain('HTTP 200');
    await made.close();
    history = await beginHistory(meta, NAME, host(3));
  });

  it('lists every control plane on its hosts, and keeps no key in the cluster', async () => {
    expect(await on(3, 'grep', 'matryoshka', '/etc/hosts')).toMatch(/^127\.0\.0\.1 /);
    for (const index of [0, 1, 2]) {
      const lines = (await on(index, 'grep', 'matryoshka', '/etc/hosts')).trim().split('\n');
      expect(lines.map((line) => line.split(' ')[0])[0]).toBe(meta.hosts[index]?.ip);
      expect(lines).toHaveLength(3);
    }
    const secrets = await on(
      0,
      'kubectl',
      '--kubeconfig=/etc/kubernetes/admin.conf',
      '--cache-dir=/dev/shm/kube',
      '-n',
      'kube-system',
      'get',
      'secrets',
      '-o',
      'name',
    );
    expect(secrets).not.toContain('kubeadm-certs');
    const key = await on(0, 'sh', '-c', 'grep -v -- - /etc/kubernetes/pki/ca.key | head -1');
    const { body } = await meta.rest.raw('GET', `${PATH}/logs`);
    expect(JSON.stringify(body)).not.toContain(key.trim());
  });

  it.each([0, 1, 2])('is reached by its worker while control plane %i is frozen', async (index) => {
    expect(await readyThroughEndpoint(3)).toBe('ok');
    await faults.pause(host(index));
    try {
      await expect.poll(() => readyThroughEndpoint(3), { timeout: 15_000, interval: 200 }).toBe('ok');
    } finally {
      await docker(['unpause', host(index).name]);
    }
  });

  it('scales down to its last control plane after a leader handover', async () => {
    await pointed(host(0));
    const handed = await timesHandedOver(host(2));
    const body = { masterList: entries(2, 3) };
    const plan = await dryRun(meta, 'POST', `${PATH}/scaledown`, body);
    const shrink = async () => {
      expect(await meta.rest.raw('POST', `${PATH}/scaledown`, body)).toMatchObject({ status: 200 });
      await untilDone(meta, NAME, OPERATION_MS);
    };
    await asPlanned(meta, NAME, shrink, { plan });
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(2, 4).map(nodeNameOf).sort());
    expect(await timesHandedOver(host(2))).toBeGreaterThan(handed);
    expect(await readyThroughEndpoint(3)).toBe('ok');
    expect(await on(3, 'grep', 'matryoshka', '/etc/hosts')).toMatch(`${meta.hosts[2]?.ip} `);
    for (const index of [0, 1]) expect(await traces(index), host(index).name).toEqual([]);
  });

  it('scales up to three though kubeadm does not hear of a promotion', async () => {
    const body = { masterList: [...entries(2, 3), ...entries(0, 2)] };
    const plan = await dryRun(meta, 'POST', `${PATH}/scaleup`, body);
    const grow = async () => {
      expect(await meta.rest.raw('POST', `${PATH}/scaleup`, body)).toMatchObject({ status: 200 });
      await untilDone(meta, NAME, OPERATION_MS);
    };
    const ended: boolean[] = [];
    const growThough = async () =>
      ended.push(
        await joinEnds(host(0), 'unlisted', async () => {
          ended.push(await joinEnds(host(1), 'unheard', grow));
        }),
      );
    await asPlanned(meta, NAME, growThough, { plan });
    expect(ended).toEqual([true, true]);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(4));
    expect(await on(3, 'grep', 'matryoshka', '/etc/hosts')).toMatch(/^127\.0\.0\.1 /);
    expect(await readyThroughEndpoint(3)).toBe('ok');
    const open = await on(3, 'ss', '-tnpH', 'state', 'established', 'dport = :6443 and not dst 127.0.0.1');
    expect(open).toContain('haproxy');
    expect(open).not.toMatch(/kubelet|kube-proxy|flanneld/);
    // Existing connections of other clients bypass the balancer until they end, so only new ones show its effect.
    await history?.end();
    history = await beginHistory(meta, NAME, host(3));
  });

  it('adds and removes a worker while two control planes do not reach each other', async () => {
    await faults.cutOff(host(0), host(1));
    try {
      for (const [path, last] of [
        ['scaleup', 5],
        ['scaledown', 4],
      ] as const) {
        expect(await meta.rest.raw('POST', `${PATH}/${path}`, { nodeList: entries(3, last) })).toMatchObject({
          status: 200,
        });
        await untilDone(meta, NAME, OPERATION_MS);
      }
    } finally {
      await faults.mend(host(0));
    }
    expect(await traces(4)).toEqual([]);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(4));
  });

  it('adds, labels and removes a worker while a control plane is dead, and replaces that one', async () => {
    // The operator asks the first control plane of the list that serves, so that one dies.
    const [dead, fresh] = [meta.hosts[2], meta.hosts[4]];
    const done = async (path: string, body: Record<string, unknown>) => {
      expect(await meta.rest.raw('POST', `${PATH}/${path}`, body)).toMatchObject({ status: 200 });
      expect((await untilDone(meta, NAME, OPERATION_MS)).status).toMatchObject({ phase: 'Running' });
    };
    await untilReported('True', ...HEALTHY);
    await faults.pause(host(2));
    try {
      // Long enough for its pods to be reported as not ready.
      const seen = await untilReported('False', 'HostsReachable', 'ControlPlaneHealthy', 'EtcdHealthy');
      expect(seen?.status?.nodes).toEqual({ ready: 3, total: 4 });
      // A probe without a leader may have reported all members.
      const isNamed = (one: KubernetesCluster | undefined) =>
        one?.status?.conditions
          ?.find(({ type }) => type === 'EtcdHealthy')
          ?.message?.includes(entries(2, 3).map(nodeNameOf).join()) === true;
      await untilCluster(meta, NAME, isNamed, REPORT_MS);
      await done('scaleup', { nodeList: entries(3, 5) });
      await done('relabel', { nodeList: [{ ...entries(4, 5)[0], labels: { 'example.com/rack': 'r1' } }] });
      await done('scaledown', { nodeList: entries(3, 4) });
      expect(await traces(4)).toEqual([]);
      await done('replace', { from: dead?.ip, to: { ip: fresh?.ip } });
      expect(await stateOfHost(dead?.ip)).toBe('Unclean');
    } finally {
      await docker(['unpause', host(2).name]);
    }
    expect(await readyNodesOf(meta, NAME)).toEqual(
      [0, 1, 3, 4].flatMap((index) => entries(index, index + 1).map(nodeNameOf)).sort(),
    );
    expect(await readyThroughEndpoint(3)).toBe('ok');
    expect((await untilReported('True', ...HEALTHY))?.status?.nodes).toEqual({ ready: 4, total: 4 });
  });

  it('has a linearizable history without a failed request', async () => {
    expect(history).toBeDefined();
    await history?.end();
  });

  it('lets its worker reach API servers though none is ready', async () => {
    const twoOfThree = [host(0), host(1)];
    for (const one of twoOfThree) await faults.stopEtcd(one);
    try {
      // Longer than the balancer takes to drop all servers; the client then judges their responses.
      let inARow = 0;
      const sayWhy = async () => {
        inARow = (await readyThroughEndpoint(3, 10)).includes('etcd failed') ? inARow + 1 : 0;
        return inARow > 5;
      };
      await seen('API servers that go on to say why', sayWhy);
    } finally {
      for (const one of twoOfThree) await faults.startEtcd(one);
    }
    await seen('API servers that are ready', async () => (await readyThroughEndpoint(3)) === 'ok');
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    await deleteCluster(meta, NAME, 'default');
    for (const index of meta.hosts.keys()) expect(await traces(index), host(index).name).toEqual([]);
  });
});
