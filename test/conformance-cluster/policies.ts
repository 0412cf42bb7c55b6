import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { UsageError } from '#base/errors.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { testImages } from '#lab/artifacts/test-images.ts';
import { loadImages } from '#lab/hosts/load-images.ts';
import { kubeconfigOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { policyCases, policyObjections, runPolicyCases } from '#lab/upstream/cyclonus.ts';
import { specsIn } from '#lab/upstream/specs.ts';
import { reportsDir } from './check.ts';

/** The meta cluster's host, a control plane, two workers. */
export const POLICY_HOSTS = 4;

const NAME = 'policies';
const KEYS = 'policies-keys';
const OPERATION_MS = 10 * 60_000;
const key = { namespace: 'default', name: NAME };
const dir = join(reportsDir, 'policies');

const listed = async () => specsIn(await readFile(join(import.meta.dirname, 'policies.txt'), 'utf8'));

/** Builds the programs that run. Throws before it creates anything if the list differs from the cases that would run. */
export async function preparePolicies(say: Say): Promise<void> {
  await testImages(say);
  const cases = (await policyCases(join(reportsDir, 'policies-cases'), say)).map((name) => ({
    name,
    passed: true,
  }));
  const wrong = policyObjections(cases, await listed());
  if (wrong.length > 0) throw new UsageError(`policies.txt is not what cyclonus runs:\n${wrong.join('\n')}`);
}

/** Runs the listed cases on a cluster whose network enforces policies. Creates the cluster first and deletes it last. */
export async function checkPolicies(meta: Meta, keep: boolean, say: Say): Promise<string> {
  const hosts = meta.hosts.slice(0, POLICY_HOSTS - 1);
  await made(meta, say);
  await loadImages(hosts, await testImages(say), say);
  const kubeconfigPath = join(reportsDir, 'policies-kubeconfig');
  await writeFile(kubeconfigPath, await kubeconfigOf(meta, NAME), { mode: 0o600 });
  const cases = await runPolicyCases(kubeconfigPath, dir, say);
  const wrong = policyObjections(cases, await listed());
  if (wrong.length > 0)
    throw new UsageError(`${wrong.length} of ${cases.length} cases:\n${wrong.join('\n')}\n${dir}/run.log`);
  if (!keep) {
    await meta.client.delete(KUBERNETES_CLUSTERS, key);
    await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
  }
  return `${cases.length} cases of cyclonus passed`;
}

/** Creates the cluster unless an earlier run has created it. */
async function made(meta: Meta, say: Say): Promise<void> {
  const keys: Secret = {
    metadata: { ...key, name: KEYS },
    data: secretData({ username: 'root', 'ssh-privatekey': meta.privateKey }),
  };
  const options = { fieldManager: 'matryoshka-lab', force: true };
  await meta.client.apply(SECRETS, keys, options);
  const [master, ...workers] = meta.hosts.slice(0, POLICY_HOSTS - 1).map(({ ip }) => ({ ip }));
  if (!master) throw new Error('there are no hosts');
  const wanted: KubernetesCluster = {
    metadata: { ...key, annotations: { [annotations.operation]: 'creating' } },
    spec: {
      cluster: { masterList: [master], nodeList: workers, credentialsSecret: KEYS },
      addons: { network: 'flannel-policies' },
    },
  };
  await announced(say, 'a cluster that enforces policies', async () => {
    await meta.client.apply(KUBERNETES_CLUSTERS, wanted, options);
    // If the cluster exists, its creation was requested by an earlier run, and this returns at once.
    await untilDone(meta, NAME, OPERATION_MS);
  });
}
