import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { catalogue, SUMS_FILE } from '#artifacts/catalogue.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { artifactsDir } from '#lab/artifacts/places.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { startHistory } from '#lab/history/run.ts';
import { keyPath, knownHostsPath, type LabHost, labDir } from '#lab/hosts/places.ts';
import { kubeconfigOf, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Figure } from '../figures.ts';
import { longTasks } from '../log-milestones.ts';
import { ask } from '../operations/reachable.ts';
import { NAME, PATH } from '../ours.ts';

/** Upgrades by one minor version, of clusters that the operator has created: by the operator, and by hand. */

const OPERATION_MS = 60 * 60_000;
/** Pause of each of five clients after a write. */
const PAUSE_MS = 1_000;

/** Returns the older and the newer version of the lab. */
export function versions(): { from: string; to: string } {
  const [newest, older] = labReleases;
  if (!older) throw new Error('RELEASES names one release; an upgrade needs two');
  return { from: older.kubernetes, to: newest.kubernetes };
}

/** Requests an operation of the cluster, and returns its duration in seconds. Rejects if it fails. Prints its slow tasks by `say`. */
export async function timed(meta: Meta, route: string, body: object, say?: Say): Promise<number> {
  const startMs = performance.now();
  const { status, body: answer } = await meta.rest.raw('POST', `${PATH}/${route}`, body);
  if (status !== 200) throw new Error(`POST ${route} was answered by ${status} ${JSON.stringify(answer)}`);
  const done = await untilDone(meta, NAME, OPERATION_MS);
  const seconds = (performance.now() - startMs) / 1000;
  if (say) for (const line of await longTasks(meta.client, done.status?.jobName ?? '')) say(`   ${line}`);
  return seconds;
}

interface Served {
  /** Requests that failed after the usual retries. */
  failed: number;
  /** Longest time without an answer to requests without retries, on a host of the cluster. */
  gapSeconds: number;
}

/** Time of day, as in logs of runs. */
const clockOf = (epochSeconds: number) => new Date(epochSeconds * 1000).toISOString().slice(11, 21);

/** Runs `work` while clients on these hosts use the API. */
export async function served<A>(
  meta: Meta,
  [writer, reader]: readonly [LabHost, LabHost],
  work: () => Promise<A>,
  say: Say,
): Promise<{ result: A } & Served> {
  const end = await startHistory(writer.name, await kubeconfigOf(meta, NAME), PAUSE_MS, () => {});
  const asked = ask(reader);
  let result: A;
  try {
    result = await work();
  } catch (error) {
    await Promise.allSettled([end(), asked()]);
    throw error;
  }
  const [silence, report] = await Promise.all([asked(), end()]);
  say(`no answer for ${silence.seconds.toFixed(2)} s since ${clockOf(silence.since)}`);
  if (report.linearizable !== 'Ok') throw new Error(`the history is ${report.linearizable}`);
  return { result, failed: report.failed?.length ?? 0, gapSeconds: silence.seconds };
}

/** Returns rows about the requests during an operation. */
export const rowsOf = (what: string, { failed, gapSeconds }: Served): Figure[] => [
  { name: `${what}: failed requests`, ours: failed, bound: 0 },
  { name: `${what}: longest gap without retries (s)`, ours: gapSeconds, bound: 3 },
];

/** Upgrades the cluster with `upgrade-by-hand.sh`. Returns the seconds since its files are in place. */
export async function upgradeByHand(
  { artifactsUrl }: Meta,
  hosts: readonly LabHost[],
  masters: number,
  say: Say,
): Promise<number> {
  const { to } = versions();
  const sums = await readFile(join(artifactsDir, SUMS_FILE), 'utf8');
  const files = catalogue(labReleases[0], sums).map(
    ({ name, path, sha256, hosts: which, image = '-' }) => `${name} ${path} ${sha256} ${which} ${image}\n`,
  );
  const filesPath = join(labDir, 'bench-files');
  await writeFile(filesPath, files.join(''));
  const args = [filesPath, String(masters), ...hosts.map(({ name, ip }) => `${name}=${ip}`)];
  return announced(say, 'upgrade by hand', async () => {
    const { stdout } = await execa(join(import.meta.dirname, 'upgrade-by-hand.sh'), args, {
      env: {
        ARTIFACTS_URL: artifactsUrl,
        KUBE_VERSION: to,
        SSH_KEY: keyPath,
        KNOWN_HOSTS: knownHostsPath,
      },
      stdin: 'ignore',
      timeout: OPERATION_MS,
      forceKillAfterDelay: 5_000,
    });
    const marks = [...stdout.matchAll(/^mark (\S+) (.+)$/gm)].map(([, at, what]) => ({
      at: Number(at),
      what,
    }));
    const [first, last] = [marks[0], marks.at(-1)];
    if (!first || !last || first === last)
      throw new Error(`the script has not said when it ended: ${stdout}`);
    for (const { at, what } of marks) say(`   ${(at - first.at).toFixed(1)} s  ${what}`);
    return last.at - first.at;
  });
}
