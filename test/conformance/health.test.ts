import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { SECRETS, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { type MadeCluster, startMadeCluster } from '../worlds/made-cluster.ts';
import { startOperator, type TestOperator } from '../worlds/operator.ts';

/** Health of created clusters, probed with their kubeconfig: a real API server whose nodes the test writes. */
let made: MadeCluster;
let operator: TestOperator;
let events: string[];
const MASTER = 'host-127-0-0-1';
const WORKER = 'host-10-251-0-2';
const spec: KubernetesCluster['spec'] = {
  cluster: { masterList: [{ ip: '127.0.0.1' }], nodeList: [{ ip: '10.251.0.2' }] },
};

beforeAll(async () => {
  made = await startMadeCluster();
});
afterAll(() => made.stop());

beforeEach(async () => {
  events = [];
  made.proxy.setConnectionFault(() => undefined);
  await Promise.all([made.setNode(MASTER, true), made.setNode(WORKER, true), made.setEtcd(MASTER, true)]);
});
afterEach(() => operator.stop());

async function start(health: { workers?: number; deadlineMs?: number } = {}): Promise<void> {
  const kubeconfig = made.kubeconfig();
  operator = await startOperator(
    inject('kubeconfigPath'),
    () => ({ kind: 'report', success: true, kubeconfig }),
    {
      health: { intervalMs: 200, deadlineMs: 5_000, workers: 4, port: made.port, ...health },
      onEvent: (reason, message) => events.push(`${reason}: ${message}`),
    },
  );
}

const says = (cluster: KubernetesCluster | undefined, type: string): string => {
  const found = findCondition(cluster?.status?.conditions, type);
  return found ? `${found.status} ${found.reason}` : 'absent';
};
const until = (type: string, wanted: string, name = 'demo') =>
  operator.until(name, (cluster) => says(cluster, type) === wanted);
/** Resolves when the cluster was probed `times` more. */
async function checksAgain(times: number): Promise<void> {
  const before = made.checks();
  await expect.poll(made.checks, { timeout: 30_000 }).toBeGreaterThan(before + times);
}

it('reports a node that goes away and comes back, and the health of etcd', async () => {
  await start();
  await operator.apply('demo', spec, 'creating');
  const well = await until('Ready', 'True Healthy');
  const all = ['HostsReachable', 'ControlPlaneHealthy', 'EtcdHealthy', 'CertificatesValid'];
  expect(all.map((type) => says(well, type))).toEqual([
    'True AllReady',
    'True AllReady',
    'True AllHealthy',
    // The certificates of the proxy are valid for one month only.
    'True ExpiresSoon',
  ]);
  expect(well?.status?.nodes).toEqual({ ready: 2, total: 2 });
  await made.setNode(WORKER, false);
  const away = await until('HostsReachable', 'False NodeNotReady');
  expect(findCondition(away?.status?.conditions, 'HostsReachable')?.message).toBe(
    `1 node is not Ready: ${WORKER}`,
  );
  expect(away?.status).toMatchObject({
    nodes: { ready: 1, total: 2 },
    summary: 'Running; HostsReachable: NodeNotReady',
  });
  expect(says(away, 'Ready')).toBe('True Healthy');
  await made.setNode(WORKER, true);
  const back = await until('HostsReachable', 'True AllReady');
  expect(back?.status).toMatchObject({ nodes: { ready: 2, total: 2 }, summary: 'Running' });
  await made.setEtcd(MASTER, false);
  await until('EtcdHealthy', 'False Degraded');
  await made.setEtcd(MASTER, true);
  await until('EtcdHealthy', 'True AllHealthy');
  const ofHealth = ['NodeNotReady', 'NodesReady', 'EtcdDegraded', 'EtcdHealthy'];
  const reported = () =>
    events.map((event) => event.split(':')[0] ?? '').filter((one) => ofHealth.includes(one));
  await expect.poll(reported).toEqual(ofHealth);
});

it('reports a drifted host until it matches the baseline, and no report with control characters', async () => {
  await start();
  await operator.apply('demo', spec, 'creating');
  await until('HostsAsMade', 'Unknown NotTold');
  const report = (node: string, ...things: string[][]) =>
    made.setDrift(node, JSON.stringify({ at: new Date().toISOString(), count: things.length, things }));
  await Promise.all([report(MASTER), report(WORKER)]);
  await until('HostsAsMade', 'True AsMade');
  await report(WORKER, ['file', '/etc/containerd/config.toml', 'changed']);
  const drifted = await until('HostsAsMade', 'False Drifted');
  expect(findCondition(drifted?.status?.conditions, 'HostsAsMade')?.message).toContain(
    `1 host differs from what was made: ${WORKER} (10.251.0.2): /etc/containerd/config.toml changed; `,
  );
  expect(drifted?.status?.summary).toBe('Running; HostsAsMade: Drifted');
  expect(says(drifted, 'Ready')).toBe('True Healthy');
  await report(WORKER, ['file', '/etc/a\nReady: False', 'changed']);
  await until('HostsAsMade', 'Unknown NotTold');
  await report(WORKER);
  await until('HostsAsMade', 'True AsMade');
  const reported = () =>
    events.map((event) => event.split(':')[0] ?? '').filter((one) => one.startsWith('Hosts'));
  await expect.poll(reported).toEqual(['HostsDrifted']);
});

it('reports an API server that does not answer until it does; a restart changes nothing', async () => {
  await start();
  await operator.apply('demo', spec, 'creating');
  await until('Ready', 'True Healthy');
  await made.setNode(WORKER, false);
  await until('HostsReachable', 'False NodeNotReady');
  await checksAgain(2);
  const version = async () => (await operator.get('demo'))?.metadata.resourceVersion;
  const atRest = await version();
  await checksAgain(3);
  await operator.restart();
  await checksAgain(3);
  expect(await version()).toBe(atRest);

  made.proxy.setConnectionFault(() => 'close');
  const accepted = made.proxy.accepted();
  await until('Ready', 'False ControlPlaneUnavailable');
  expect(made.proxy.accepted()).toBeGreaterThanOrEqual(accepted + 2);
  await until('HostsReachable', 'Unknown NotObserved');
  expect((await operator.get('demo'))?.status).not.toHaveProperty('nodes');
  const down = await version();
  await operator.restart();
  const restarted = made.proxy.accepted();
  await expect.poll(made.proxy.accepted, { timeout: 30_000 }).toBeGreaterThan(restarted + 2);
  expect(await version()).toBe(down);

  made.proxy.setConnectionFault(() => undefined);
  await until('Ready', 'True Healthy');
  const reported = () => events.filter((event) => event.startsWith('ControlPlane'));
  await expect
    .poll(reported)
    .toEqual([
      'ControlPlaneDegraded: 1 of 1 API servers is not ready: 127.0.0.1 does not answer',
      'ControlPlaneHealthy: every API server is ready',
    ]);
});

it('ignores servers and proxies that a user writes into the kubeconfig', async () => {
  await start();
  const planted: unknown[] = [];
  const trap = createServer((socket) => void planted.push(socket.destroy()));
  trap.listen(made.port, '127.0.0.9');
  await once(trap, 'listening');
  try {
    await operator.apply('demo', spec, 'creating');
    await until('Ready', 'True Healthy');
    const key = { namespace: operator.namespace, name: 'demo-kubeconfig' };
    const write = (text: string) =>
      operator.client.patch(SECRETS, key, { data: secretData({ value: text }) }, { type: 'merge' });
    // The other server gets no request: the controller probes the hosts on record.
    const elsewhere = `https://127.0.0.9:${made.port}`;
    await write(made.kubeconfig({ server: elsewhere, 'tls-server-name': 'x', 'proxy-url': elsewhere }));
    await checksAgain(3);
    expect(says(await operator.get('demo'), 'Ready')).toBe('True Healthy');
    await write(made.kubeconfig({ 'certificate-authority-data': '', 'insecure-skip-tls-verify': true }));
    const blind = await until('Ready', 'Unknown KubeconfigUnusable');
    expect(JSON.stringify(blind?.status)).not.toContain('127.0.0.9');
    expect(planted).toEqual([]);
  } finally {
    await new Promise((resolve) => trap.close(resolve));
  }
});

it('probes other clusters while one hangs, and none that is being deleted', async () => {
  let hanging = 0;
  const hung = createServer((socket) => {
    hanging += 1;
    socket.on('error', () => {});
  });
  const hangs = async (times: number) => {
    const before = hanging;
    await expect.poll(() => hanging, { timeout: 30_000 }).toBeGreaterThanOrEqual(before + times);
  };
  hung.listen(made.port, '127.0.0.2');
  await once(hung, 'listening');
  await start({ workers: 1, deadlineMs: 1_000 });
  try {
    await operator.apply('hung', { cluster: { masterList: [{ ip: '127.0.0.2' }] } }, 'creating');
    await operator.apply('demo', spec, 'creating');
    await until('Ready', 'False ControlPlaneUnavailable', 'hung');
    await until('Ready', 'True Healthy');
    await made.setNode(WORKER, false);
    await until('HostsReachable', 'False NodeNotReady');
    await isLeftAlone(hangs);
  } finally {
    hung.close();
  }
});

/** Checks that a cluster in deletion is no longer probed; a foreign finalizer keeps its object. */
async function isLeftAlone(othersAreLookedAt: (times: number) => Promise<void>): Promise<void> {
  const key = { namespace: operator.namespace, name: 'demo' };
  const patch = (finalizers: string[]) =>
    operator.client.patch(KUBERNETES_CLUSTERS, key, { metadata: { finalizers } }, { type: 'merge' });
  const cluster = await operator.get('demo');
  await patch([...(cluster?.metadata.finalizers ?? []), 'example.com/kept']);
  await operator.client.delete(KUBERNETES_CLUSTERS, key);
  const going = await until('HostsReachable', 'absent');
  expect(going?.status).not.toHaveProperty('nodes');
  // A probe that is in progress ends first.
  await othersAreLookedAt(1);
  const checks = made.checks();
  await othersAreLookedAt(2);
  expect(made.checks()).toBe(checks);
  await patch([]);
}
