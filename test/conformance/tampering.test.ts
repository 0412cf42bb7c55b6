import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { CONFIG_MAPS, SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, attemptSecretName, labels } from '#api/names.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

const success: Ending = { kind: 'report', success: true, kubeconfig: KUBECONFIG };
let script: (job: string) => Ending | Promise<Ending>;
let operator: TestOperator;

beforeEach(async () => {
  script = () => success;
  operator = await startOperator(inject('kubeconfigPath'), (job) => script(job));
});
afterEach(() => operator.stop());

const spec = {
  cluster: { masterList: [{ ip: '10.251.0.1' }], nodeList: [{ ip: '10.251.0.2' }] },
};
const finished = (cluster: KubernetesCluster | undefined) =>
  cluster?.metadata.annotations?.[annotations.operation] === 'create-finished';

it('an attempt keeps the key that it began with, though Secret and record change', async () => {
  const { namespace, operatorNamespace } = operator;
  const before = await operator.client.get<Secret>(SECRETS, { namespace, name: 'keys' });
  let used: Secret | undefined;
  script = async (job) => {
    if (used) return success;
    const rotated = {
      ...before,
      data: secretData({ username: 'root', 'ssh-privatekey': keyPair().private }),
    };
    await operator.client.update(SECRETS, rotated);
    const records = { namespace, labelSelector: `${labels.purpose}=record` };
    for (const { metadata } of (await operator.client.list(CONFIG_MAPS, records)).items)
      await operator.client.delete(CONFIG_MAPS, { namespace, name: metadata.name ?? '' });
    used = await operator.client.get<Secret>(SECRETS, {
      namespace: operatorNamespace,
      name: attemptSecretName(job),
    });
    return success;
  };
  await operator.apply('demo', spec, 'creating');
  await operator.until('demo', finished);
  expect(secretText(used, 'ssh-privatekey')).toBe(secretText(before, 'ssh-privatekey'));
});

it('a cluster that is created again under its name gets a new id', async () => {
  await operator.apply('demo', spec, 'creating');
  const first = await operator.until('demo', finished);
  await operator.client.delete(KUBERNETES_CLUSTERS, { namespace: operator.namespace, name: 'demo' });
  await operator.until('demo', (cluster) => cluster === undefined);
  await operator.apply('demo', spec, 'creating');
  const second = await operator.until('demo', finished);
  const id = (cluster: KubernetesCluster | undefined) =>
    cluster?.metadata.annotations?.[annotations.clusterId];
  expect(id(second)).not.toBe(id(first));
  expect(second?.status?.operation?.sequence).toBe(1);
  expect(operator.started.map((job) => job.split('-')[0])).toEqual(['create', 'delete', 'create']);
});
