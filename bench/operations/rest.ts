import { sleep } from '#base/clock.ts';
import { announced, sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { docker } from '#lab/hosts/docker.ts';
import { untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Figure } from '../figures.ts';
import { freshHosts } from '../hosts.ts';

const OPERATION_MS = 8 * 60_000;
const CLEAN_UP_MS = 30_000;
const REST_SECONDS = 60;

const cpuSecondsOf = async (host: string, pattern: string): Promise<{ cpu: number; rssMiB: number }> => {
  const script = `pid=$(pgrep -f '${pattern}' | head -1); awk '{ print $14 + $15 }' /proc/$pid/stat; awk '/^VmRSS/ { print $2 }' /proc/$pid/status`;
  const [ticks = Number.NaN, kib = Number.NaN] = (await docker(['exec', host, 'sh', '-c', script]))
    .trim()
    .split('\n')
    .map(Number);
  return { cpu: ticks / 100, rssMiB: kib / 1024 };
};

/** Measures the operator's share of a core and its memory while there are no requests. */
async function atRest(host: string): Promise<{ ofACore: number; rssMiB: number }> {
  const pattern = '[m]atryoshka.js controller';
  const before = await cpuSecondsOf(host, pattern);
  await sleep(REST_SECONDS * 1000);
  const after = await cpuSecondsOf(host, pattern);
  return { ofACore: (after.cpu - before.cpu) / REST_SECONDS, rssMiB: after.rssMiB };
}

/** Measures `count` clusters of one host each, which the operator probes and no user changes. */
export async function watching(meta: Meta, count: number): Promise<Figure[]> {
  const hosts = (await freshHosts(say, count + 1)).slice(0, count);
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
  await sleep(CLEAN_UP_MS);
  const { ofACore, rssMiB } = await atRest('lab-1');
  for (const name of names) await meta.rest.raw('DELETE', `/region/lab/cluster/${name}`);
  for (const name of names) await untilCluster(meta, name, (cluster) => cluster === undefined, OPERATION_MS);
  return [
    { name: `operator at rest with ${count} clusters (% of a core)`, ours: ofACore * 100, bound: 2 },
    { name: `operator at rest with ${count} clusters (MiB)`, ours: rssMiB, bound: 180 },
  ];
}
