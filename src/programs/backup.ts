import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { readBackup, writeBackup } from '#backup/backup-file.ts';
import { collect } from '#backup/collect.ts';
import { differences } from '#backup/compare.ts';
import { type Loaded, load } from '#backup/load.ts';
import { sleep } from '#base/clock.ts';
import { messageOf, UsageError } from '#base/errors.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import type { backupConfig, restoreConfig } from '../command-config.ts';

type Print = (line: string) => void;

const DEPLOYMENTS: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};
const CONTROLLER = 'matryoshka-controller';
const STOP_MS = 120_000;
const CHECK_MS = 500;

interface Deployment extends KubeObject {
  spec?: { replicas?: number };
  status?: { replicas?: number };
}

async function withClient<T>(
  kubeconfig: string | undefined,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = createClient(await loadEndpoint({ kubeconfig }), { userAgent: 'matryoshka-backup' });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Writes the objects of an installation into an encrypted file. */
export async function backupCommand(config: z.output<typeof backupConfig>, print: Print): Promise<void> {
  if (!/^age1[a-z0-9]+$/.test(config.recipient))
    throw new UsageError(
      '--recipient is not a public key of age; write the line age1… that age-keygen prints',
    );
  await withClient(config.kubeconfig, async (client) => {
    const content = await collect(client, config.operatorNamespace, new Date());
    const bytes = await writeBackup(config.to, content, config.recipient);
    const { clusters, hosts, secrets } = content;
    print(
      `${config.to}: clusters: ${clusters.length}, hosts: ${hosts.length}, Secrets: ${secrets.length}; ${bytes} bytes, encrypted for ${config.recipient}`,
    );
  });
}

/** Loads a backup into an installation, and lets the operator continue with the clusters that are as the backup says. */
export async function restoreCommand(config: z.output<typeof restoreConfig>, print: Print): Promise<void> {
  const backup = await readBackup(config.from, identityIn(config.identity));
  print(`${config.from}: of ${backup.createdAt}, clusters: ${backup.clusters.length}`);
  await withClient(config.kubeconfig, async (client) => {
    const loaded = await withoutController(client, config.operatorNamespace, print, () =>
      load(client, backup, config.operatorNamespace),
    );
    const left = await compareAll(client, loaded, config.operatorNamespace, print);
    for (const cluster of loaded.deleting)
      print(`${cluster}: was being deleted when the backup was made; delete it again`);
    if (left > 0)
      throw new Error(
        `${left} of ${loaded.clusters.length} clusters stay paused; see the lines above, then set spec.paused to false`,
      );
  });
}

function identityIn(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--identity: ${messageOf(error)}`);
  }
  const identity = /^AGE-SECRET-KEY-1[A-Z0-9]+$/m.exec(text)?.[0];
  if (identity === undefined) throw new UsageError(`--identity: ${path} has no line AGE-SECRET-KEY-1…`);
  return identity;
}

/** Stops the controller for the time of `work`: objects come one by one, and half of them would look like a deletion. */
async function withoutController<T>(
  client: Client,
  namespace: string,
  print: Print,
  work: () => Promise<T>,
): Promise<T> {
  const key = { namespace, name: CONTROLLER };
  const there = await client.find<Deployment>(DEPLOYMENTS, key);
  if (!there)
    throw new UsageError(
      `Deployment ${CONTROLLER} is not in namespace ${namespace}; install the operator first, with the command bootstrap`,
    );
  const replicas = there.spec?.replicas ?? 1;
  const scale = (to: number) =>
    client.patch<Deployment>(DEPLOYMENTS, key, { spec: { replicas: to } }, { type: 'merge' });
  await scale(0);
  try {
    const end = performance.now() + STOP_MS;
    while (((await client.get<Deployment>(DEPLOYMENTS, key)).status?.replicas ?? 0) > 0) {
      if (performance.now() > end) throw new Error(`${CONTROLLER} does not stop within ${STOP_MS / 1000} s`);
      await sleep(CHECK_MS);
    }
    print('the controller is stopped; loading');
    return await work();
  } finally {
    await scale(Math.max(1, replicas));
  }
}

/** Resumes the clusters that are what the backup says. Returns the number of those that stay paused for a user. */
async function compareAll(
  client: Client,
  { clusters }: Loaded,
  namespace: string,
  print: Print,
): Promise<number> {
  let left = 0;
  for (const cluster of clusters) {
    const name = `${cluster.namespace}/${cluster.name}`;
    const found = await differences(client, cluster, namespace);
    if (found.length > 0) {
      left += 1;
      print(`${name}: stays paused: ${found.join('; ')}`);
    } else if (cluster.wasPaused) {
      print(`${name}: is as the backup says, and was paused before`);
    } else {
      const { namespace: at, name: of } = cluster;
      const patch = { spec: { paused: null } };
      await client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace: at, name: of }, patch, {
        type: 'merge',
      });
      print(`${name}: is as the backup says; the operator continues`);
    }
  }
  return left;
}
