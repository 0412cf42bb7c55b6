import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

/**
 * Missing Secrets, operations that a restored backup does not have, foreign Secrets with our names, and releases that are no
 * longer offered.
 */
const success: Ending = { kind: 'report', success: true, kubeconfig: KUBECONFIG };
let operator: TestOperator;

beforeEach(async () => {
  operator = await startOperator(inject('kubeconfigPath'), () => success);
});
afterEach(() => operator.stop());

const host = (last: number) => ({ ip: `10.253.0.${last}` });
const spec = (...nodes: number[]): KubernetesCluster['spec'] => ({
  cluster: { masterList: [host(1)], nodeList: nodes.map(host) },
});
const word = (cluster: KubernetesCluster | undefined) =>
  cluster?.metadata.annotations?.[annotations.operation];
const stalled = (cluster: KubernetesCluster | undefined) =>
  findCondition(cluster?.status?.conditions, 'Stalled')?.reason;
const key = (name: string) => ({ namespace: operator.namespace, name });

it('a StaleRun report raises the sequence past that of the hosts; a repeated deletion succeeds', async () => {
  const behind: Ending = { kind: 'report', success: false, reason: 'StaleRun', hostsAt: 7 };
  let isBehind = false;
  await operator.stop();
  operator = await startOperator(inject('kubeconfigPath'), () => (isBehind ? behind : success));
  await operator.apply('demo', spec(2), 'creating');
  await operator.until('demo', (cluster) => word(cluster) === 'create-finished');
  isBehind = true;
  await operator.client.delete(KUBERNETES_CLUSTERS, key('demo'));
  const failed = await operator.until('demo', (cluster) => stalled(cluster) === 'OperationFailed');
  expect(failed?.status).toMatchObject({ reason: 'StaleRun', operation: { name: 'delete', sequence: 2 } });
  isBehind = false;
  const again = { metadata: { annotations: { [annotations.requestId]: 'again' } } };
  await operator.client.patch(KUBERNETES_CLUSTERS, key('demo'), again, { type: 'merge' });
  const seen = await operator.until('demo', (cluster) => cluster?.status?.operation?.sequence !== 2);
  expect(seen?.status?.operation?.sequence ?? 8).toBe(8);
  await operator.until('demo', (cluster) => cluster === undefined);
});

it('a cluster that never touched a host is deleted at once, though its Secret is missing', async () => {
  await operator.client.delete(SECRETS, key('keys'));
  await operator.apply('demo', spec(2), 'creating');
  await operator.until('demo', (cluster) => stalled(cluster) === 'CredentialsMissing');
  await operator.client.delete(KUBERNETES_CLUSTERS, key('demo'));
  await operator.until('demo', (cluster) => cluster === undefined);
  expect(operator.started).toEqual([]);
  const clusterStates = () => operator.client.list(SECRETS, { namespace: operator.operatorNamespace });
  await expect.poll(async () => (await clusterStates()).items).toEqual([]);
});

it.each(['demo-kubeconfig', 'demo-known-hosts'])(
  'a foreign Secret %s is neither used nor overwritten',
  async (name) => {
    const foreign: Secret = {
      metadata: { ...key(name), labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } },
      data: secretData({ value: KUBECONFIG, known_hosts: '10.253.0.1 ssh-ed25519 BBBB' }),
    };
    const before = await operator.client.create(SECRETS, foreign);
    await operator.apply('demo', spec(2), 'creating');
    const cluster = await operator.until('demo', (now) => stalled(now) !== undefined);
    expect(JSON.stringify(cluster?.status)).toContain(`Secret \\"${name}\\" was not made by the operator`);
    expect(await operator.client.get(SECRETS, key(name))).toEqual(before);
    const { namespace } = operator;
    await operator.client.delete(KUBERNETES_CLUSTERS, { namespace, name: 'demo' });
    await operator.until('demo', (now) => now === undefined);
    const after = await operator.client.get<Secret>(SECRETS, key(name));
    expect(secretText(after, 'value')).toBe(KUBECONFIG);
  },
);

it('a labelled Secret without an owner is foreign; one of a deleted owner is replaced', async () => {
  const labelled = { [labels.purpose]: 'access' };
  const planted: Secret = { metadata: { ...key('demo-kubeconfig'), labels: labelled }, data: {} };
  await operator.client.create(SECRETS, planted);
  await operator.apply('demo', spec(2), 'creating');
  await operator.until('demo', (now) =>
    JSON.stringify(now?.status ?? {}).includes('was not made by the operator'),
  );
  await operator.client.delete(SECRETS, key('demo-kubeconfig'));
  await operator.apply('demo', spec(2), 'creating', 'again');
  await operator.until('demo', (cluster) => word(cluster) === 'create-finished');
  // A Secret as restored from a backup: another owner uid, and content that may be of any cluster.
  const made = await operator.client.get<Secret>(SECRETS, key('demo-kubeconfig'));
  const [owner] = made.metadata.ownerReferences ?? [];
  const stale = {
    metadata: { ownerReferences: [{ ...owner, uid: '00000000-0000-0000-0000-000000000000' }] },
    data: secretData({ value: 'users: [{name: other, user: {token: other}}]' }),
  };
  await operator.client.patch(SECRETS, key('demo-kubeconfig'), stale, { type: 'merge' });
  const touched = { metadata: { labels: { touched: 'yes' } } };
  await operator.client.patch(KUBERNETES_CLUSTERS, key('demo'), touched, { type: 'merge' });
  const kept = async () => {
    const found = await operator.client.find<Secret>(SECRETS, key('demo-kubeconfig'));
    return [found?.metadata.ownerReferences?.map(({ uid }) => uid), secretText(found, 'value')];
  };
  await expect.poll(kept, { timeout: 15_000 }).toEqual([[owner?.uid], KUBECONFIG]);
});

it('a cluster of a release that is no longer offered can be scaled down and deleted', async () => {
  await operator.apply('demo', spec(2, 3), 'creating');
  await operator.until('demo', (cluster) => word(cluster) === 'create-finished');
  await operator.restart(['v1.35.4']);
  await operator.apply(
    'demo',
    { cluster: { ...spec(2).cluster, kubeVersion: 'v1.34.4' } },
    'scaling-down',
    'down',
  );
  await operator.until('demo', (cluster) => word(cluster) === 'scale-down-finished');
  await operator.client.delete(KUBERNETES_CLUSTERS, key('demo'));
  await operator.until('demo', (cluster) => cluster === undefined);
});
