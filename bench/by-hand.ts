import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { catalogue, SUMS_FILE } from '#artifacts/catalogue.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { artifactsDir } from '#lab/artifacts/places.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { keyPath, knownHostsPath, type LabHost, labDir } from '#lab/hosts/places.ts';
import { nodesReady } from './nodes-ready.ts';
import type { Milestone, Run } from './run.ts';

const SCRIPT_MS = 8 * 60_000;

/** Artifacts that these clusters do not need: their pod network is flannel without policies. */
const OF_OTHER_NETWORKS = ['kube-router'];

/** Returns the list of files for the script: the same files and sums as the operator's. */
async function fileList(): Promise<string> {
  const sums = await readFile(join(artifactsDir, SUMS_FILE), 'utf8');
  return catalogue(labReleases[0], sums)
    .filter(({ name }) => !OF_OTHER_NETWORKS.includes(name))
    .map(({ name, path, sha256, hosts, image = '-' }) => `${name} ${path} ${sha256} ${hosts} ${image}\n`)
    .join('');
}

/** Returns the last time of each milestone; for two workers, the later one's. */
function milestonesIn(output: string, startMs: number): Milestone[] {
  const last = new Map<string, number>();
  for (const [, at, what = ''] of output.matchAll(/^mark (\S+) (.+)$/gm)) {
    const seconds = Number(at) - startMs / 1000;
    last.set(what, Math.max(seconds, last.get(what) ?? 0));
  }
  return [...last].map(([what, at]) => ({ what, at })).sort((a, b) => a.at - b.at);
}

/**
 * Creates one cluster with `by-hand.sh`, from files at `artifactsUrl`. The first hosts are control planes, the last ones
 * etcd members.
 */
export async function byHand(
  artifactsUrl: string,
  hosts: readonly LabHost[],
  say: Say,
  masters = 1,
  etcdHosts = 0,
): Promise<Run> {
  const filesPath = join(labDir, 'bench-files');
  const kubeconfigPath = join(labDir, 'bench-by-hand.kubeconfig');
  await writeFile(filesPath, await fileList());
  const args = [filesPath, kubeconfigPath, ...hosts.map(({ name, ip }) => `${name}=${ip}`)];
  return announced(say, 'by hand', async () => {
    const startMs = Date.now();
    const { stdout } = await execa(join(import.meta.dirname, 'by-hand.sh'), args, {
      env: {
        ARTIFACTS_URL: artifactsUrl,
        MASTERS: String(masters),
        MEMBERS: String(etcdHosts),
        KUBE_VERSION: labReleases[0].kubernetes,
        SSH_KEY: keyPath,
        KNOWN_HOSTS: knownHostsPath,
      },
      stdin: 'ignore',
      timeout: SCRIPT_MS,
      forceKillAfterDelay: 5_000,
    });
    await nodesReady(kubeconfigPath, hosts.length - etcdHosts);
    const seconds = (Date.now() - startMs) / 1000;
    const end = { what: 'kubectl sees all nodes Ready', at: seconds };
    return { seconds, milestones: [...milestonesIn(stdout, startMs), end] };
  });
}
