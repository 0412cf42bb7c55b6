import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SECRETS } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { snapshotsSecretName } from '#api/names.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { type LabHost, labDir } from '#lab/hosts/places.ts';
import { kubeconfigOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { isNotFound } from '#runtime/wire/api-error.ts';
import { logMilestones } from './log-milestones.ts';
import { nodesReady } from './nodes-ready.ts';
import type { Milestone, Run } from './run.ts';
import { type Sightings, watchSightings } from './sightings.ts';

export const NAME = 'bench';
export const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 8 * 60_000;

const ended = (cluster: KubernetesCluster | undefined): boolean =>
  cluster?.status?.phase === 'Running' || cluster?.status?.phase === 'Failed';

/**
 * Creates one cluster by a POST to the operator, of the newest version by default. The first hosts are control planes, the last ones etcd members. The cluster
 * stays until `removeOurs`.
 */
export async function ours(
  meta: Meta,
  hosts: readonly LabHost[],
  say: Say,
  masters = 1,
  etcdHosts = 0,
  kubeVersion?: string,
): Promise<Run> {
  const entries = hosts.map(({ ip }) => ({ ip }));
  const [master] = entries;
  if (!master) throw new Error('no host for a control plane');
  const nodes = entries.length - etcdHosts;
  const lists = {
    masterList: entries.slice(0, masters),
    nodeList: entries.slice(masters, nodes),
    ...(etcdHosts > 0 ? { etcdList: entries.slice(nodes) } : {}),
  };
  const version = kubeVersion === undefined ? {} : { kubeVersion };
  const body = { name: NAME, ...version, ...lists, privateSSHKey: meta.privateKey };
  const sightings = await watchSightings(meta.client);
  try {
    return await announced(say, 'ours', async () => {
      const startMs = Date.now();
      const { status, body: answer } = await meta.rest.raw('POST', PATH, body);
      if (status !== 200) throw new Error(`POST was answered by ${status} ${JSON.stringify(answer)}`);
      const cluster = await untilCluster(meta, NAME, ended, OPERATION_MS);
      const runningMs = Date.now();
      if (cluster?.status?.phase !== 'Running')
        throw new Error(`Failed: ${cluster?.status?.reason}: ${cluster?.status?.message}`);
      const kubeconfigPath = join(labDir, 'bench-ours.kubeconfig');
      await writeFile(kubeconfigPath, await kubeconfigOf(meta, NAME), { mode: 0o600 });
      await nodesReady(kubeconfigPath, nodes);
      const seconds = (Date.now() - startMs) / 1000;
      const job = cluster.status.jobName ?? '';
      const reported = await logMilestones(meta.client, job, master.ip, startMs);
      const seen = [
        ...milestonesOf(cluster, sightings, startMs),
        ...reported,
        { what: 'phase Running', at: (runningMs - startMs) / 1000 },
        { what: 'kubectl sees all nodes Ready', at: seconds },
      ];
      return { seconds, milestones: seen.sort((a, b) => a.at - b.at) };
    });
  } finally {
    await sightings.stop();
  }
}

function milestonesOf({ status }: KubernetesCluster, sightings: Sightings, startMs: number): Milestone[] {
  const moments: [string, number | undefined][] = [
    ['accepted', Date.parse(status?.operation?.startedAt ?? '')],
    ["the Job's pod is made", sightings.at('pod')],
    ['report delivered', sightings.at('report')],
    ["the Job's pod has ended", sightings.at('pod-ended')],
    ['the Job is complete', sightings.at('job-ended')],
  ];
  return moments.flatMap(([what, ms]) =>
    ms === undefined || Number.isNaN(ms) ? [] : [{ what, at: (ms - startMs) / 1000 }],
  );
}

/** Deletes the cluster through REST, so that the meta cluster is as idle and empty as before. */
export async function removeOurs(meta: Meta, say: Say): Promise<void> {
  await announced(say, 'ours, deleted', async () => {
    await untilDone(meta, NAME, OPERATION_MS);
    const { status, body } = await meta.rest.raw('DELETE', PATH);
    if (status !== 200) throw new Error(`DELETE was answered by ${status} ${JSON.stringify(body)}`);
    await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
    // The key of snapshots outlives its cluster, and does not count for another one of the same name.
    const key = { namespace: 'default', name: snapshotsSecretName(NAME) };
    await meta.client.delete(SECRETS, key).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  });
}
