import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { nodeNameOf } from '#api/host.ts';
import { sleep } from '#base/clock.ts';
import { messageOf, UsageError } from '#base/errors.ts';
import { announced, sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { docker } from '#lab/hosts/docker.ts';
import { labDown } from '#lab/hosts/down.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { type Meta, metaUp } from '#lab/meta/meta.ts';
import { byHand } from '../by-hand.ts';
import { type Figure, median, readBaseline, row, worsened, writeBaseline } from '../figures.ts';
import { freshHosts } from '../hosts.ts';
import { secondsOf } from '../log-milestones.ts';
import { NAME, ours, PATH, removeOurs } from '../ours.ts';
import { addWorker, timed } from './add-worker.ts';
import { gaps } from './reachable.ts';
import { atRest, readySince } from './rest.ts';

/** Figures of operations on clusters of several control planes (`make bench-operations`). */

const baselinePath = join(import.meta.dirname, 'baseline.tsv');
/** The meta cluster's host, three control planes, a worker, and one to spare. */
const HOSTS = 6;
const MASTERS = 3;
const SETTLE_MS = 5_000;
const OPERATION_MS = 8 * 60_000;
const REST_SECONDS = 60;

function numberOf(name: string, preset: string): number {
  const text = process.env[name] ?? preset;
  if (!/^[1-9]\d?$/.test(text)) throw new UsageError(`${name} is a number from 1 to 99, not ${text}`);
  return Number(text);
}

/** What can be measured alone: etcd on hosts of its own, three control planes, the operator at rest, a worker added. */
const PARTS = ['apart', 'three', 'rest', 'add'] as const;

function partsOf(text: string): string[] {
  const parts = text.split(',');
  const unknown = parts.find((part) => !PARTS.some((one) => one === part));
  if (unknown !== undefined) throw new UsageError(`PARTS is a list of ${PARTS.join(', ')}, not ${unknown}`);
  return parts;
}

const at = (hosts: readonly LabHost[], index: number): LabHost => {
  const host = hosts[index];
  if (!host) throw new Error(`there is no host ${index}`);
  return host;
};

/** Three control planes, a worker and members of etcd apart, by us and by hand, in turn; the last of ours stays. */
async function creations(meta: Meta, runs: number, members = 0): Promise<Figure> {
  const measured: { ours: number; peer: number }[] = [];
  const used = MASTERS + 1 + members;
  const fresh = async () => (await freshHosts(say, Math.max(HOSTS, used + 1))).slice(0, used);
  for (let run = 1; run <= runs; run += 1) {
    const forHand = await fresh();
    await sleep(SETTLE_MS);
    const peer = await byHand(meta.artifactsUrl, forHand, say, MASTERS, members);
    const forOurs = await fresh();
    await sleep(SETTLE_MS);
    const made = await ours(meta, forOurs, say, MASTERS, members);
    measured.push({ ours: made.seconds, peer: peer.seconds });
    say(`-- ours ${made.seconds.toFixed(1)} s, by hand ${peer.seconds.toFixed(1)} s`);
    if (run < runs) await removeOurs(meta, say);
  }
  const middle = (side: 'ours' | 'peer') => median(measured.map((one) => one[side]));
  const name = `create ${members > 0 ? `${MASTERS}+${members}` : MASTERS}+1 (s)`;
  return { name, ours: middle('ours'), peer: middle('peer'), bound: 1.3, runs: measured };
}

async function reachable(meta: Meta, times: number): Promise<Figure[]> {
  const [masters, worker] = [meta.hosts.slice(0, MASTERS), at(meta.hosts, MASTERS)];
  const node = nodeNameOf({ ip: worker.ip });
  const before = await readySince(at(masters, 0).name, node);
  const found = await gaps(masters, worker, times, say);
  const after = await readySince(at(masters, 0).name, node);
  const sorted = found.map(({ seconds }) => seconds).sort((a, b) => a - b);
  const p99 = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.NaN;
  return [
    { name: `API reachable again, p99 of ${times} (s)`, ours: p99, bound: 4 },
    { name: 'the worker was NotReady meanwhile', ours: before === after ? 0 : 1, bound: 0 },
  ];
}

/** The first control plane is killed, and replaced by the spare host. */
async function replaced(meta: Meta): Promise<Figure> {
  const [dead, fresh] = [at(meta.hosts, 0), at(meta.hosts, MASTERS + 1)];
  await docker(['kill', '--signal=KILL', dead.name]);
  try {
    const seconds = await announced(say, 'the dead first control plane is replaced', () =>
      timed(meta, `${PATH}/replace`, { from: dead.ip, to: { ip: fresh.ip } }),
    );
    return { name: 'dead first control plane replaced (s)', ours: seconds, bound: 90 };
  } finally {
    await docker(['start', dead.name]);
  }
}

async function resets(meta: Meta): Promise<Figure> {
  await timed(meta, `${PATH}/scaledown`, { nodeList: [], allowEmpty: true });
  const cluster = await untilDone(meta, NAME, OPERATION_MS);
  const seconds = await secondsOf(meta.client, cluster.status?.jobName ?? '', 'Reset the host');
  return { name: 'reset of one host (s)', ours: seconds, bound: 15 };
}

/** Clusters of one host each, which the operator looks at and nobody changes. */
async function watching(meta: Meta): Promise<Figure[]> {
  const hosts = (await freshHosts(say, HOSTS)).slice(0, HOSTS - 1);
  const names = hosts.map((_host, index) => `rest-${index}`);
  await announced(say, `${hosts.length} clusters`, async () => {
    for (const [index, { ip }] of hosts.entries()) {
      const list = [{ ip }];
      const body = { name: names[index], masterList: list, nodeList: list, privateSSHKey: meta.privateKey };
      const { status } = await meta.rest.raw('POST', `/region/lab/cluster/rest-${index}`, body);
      if (status !== 200) throw new Error(`POST was answered by ${status}`);
    }
    for (const name of names) await untilDone(meta, name, 2 * OPERATION_MS);
  });
  await sleep(30_000);
  const { ofACore, rssMiB } = await atRest('lab-1', REST_SECONDS);
  for (const name of names) await meta.rest.raw('DELETE', `/region/lab/cluster/${name}`);
  for (const name of names) await untilCluster(meta, name, (cluster) => cluster === undefined, OPERATION_MS);
  return [
    { name: `operator at rest with ${hosts.length} clusters (% of a core)`, ours: ofACore * 100, bound: 2 },
    { name: `operator at rest with ${hosts.length} clusters (MiB)`, ours: rssMiB, bound: 180 },
  ];
}

async function main(): Promise<void> {
  const [runs, times] = [numberOf('RUNS', '3'), numberOf('TIMES', '50')];
  const figures: Figure[] = [];
  const add = (...more: Figure[]) => {
    for (const figure of more) say(row(figure));
    figures.push(...more);
  };
  const asked = partsOf(process.env['PARTS'] ?? PARTS.join(','));
  const meta = await metaUp(HOSTS, say);
  try {
    if (asked.includes('apart')) {
      add(await creations(meta, runs, MASTERS));
      await removeOurs(meta, say);
    }
    if (asked.includes('three')) {
      add(await creations(meta, runs));
      add(...(await reachable(meta, times)));
      add(await replaced(meta));
      add(await resets(meta));
      await removeOurs(meta, say);
    }
    if (asked.includes('rest')) add(...(await watching(meta)));
    if (asked.includes('add')) add(await addWorker(meta, runs, say));
  } finally {
    await meta.close();
    if (process.env['KEEP'] === undefined) await labDown(say);
  }
  const about = `${runs} creations a side in turn, medians; ${availableParallelism()} cores`;
  const before = await readBaseline(baselinePath);
  const lines = [about, ...figures.map(row), ...(before === undefined ? [] : worsened(figures, before))];
  process.stdout.write(`${lines.join('\n')}\n`);
  // A baseline has every figure, so a part alone makes none.
  if (asked.length === PARTS.length && (before === undefined || process.env['BASELINE'] !== undefined))
    await writeBaseline(baselinePath, about, figures);
}

try {
  await main();
} catch (error) {
  const text =
    error instanceof UsageError ? error.message : (error instanceof Error && error.stack) || messageOf(error);
  process.stderr.write(`bench: ${text}\n`);
  process.exitCode = 1;
}
