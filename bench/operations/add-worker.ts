import { sleep } from '#base/clock.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { type Figure, median } from '../figures.ts';
import { freshHosts } from '../hosts.ts';
import { NAME, ours, PATH, removeOurs } from '../ours.ts';

/** A worker is added to a large cluster and to a small one: the cost should follow the change. */

const LARGE = { masters: 3, workers: 10 };
const SMALL = { masters: 1, workers: 1 };
/** The meta cluster's host, the large cluster, and the one that is added. */
const HOSTS = 1 + LARGE.masters + LARGE.workers + 1;
const OPERATION_MS = 8 * 60_000;
/** Kubelets of new nodes do much at first. */
const SETTLE_MS = 30_000;

export async function addWorker(meta: Meta, runs: number, say: Say): Promise<Figure> {
  const large = await additions(meta, LARGE, runs, say);
  const small = await additions(meta, SMALL, runs, say);
  const measured = large.map((seconds, run) => ({ ours: seconds, peer: small[run] ?? Number.NaN }));
  const name = `a worker added to ${LARGE.masters}+${LARGE.workers} (s), against ${SMALL.masters}+${SMALL.workers}`;
  return { name, ours: median(large), peer: median(small), bound: 1.2, runs: measured };
}

/** Seconds from the request to the result, on hosts that had nothing before the first. */
async function additions(
  meta: Meta,
  { masters, workers }: typeof LARGE,
  runs: number,
  say: Say,
): Promise<number[]> {
  const hosts = await freshHosts(say, HOSTS);
  const [members, spare] = [hosts.slice(0, masters + workers), hosts.at(-1)];
  await ours(meta, members, say, masters);
  const seconds: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    await sleep(SETTLE_MS);
    const nodeList = entries([...members.slice(masters), ...(spare ? [spare] : [])]);
    const took = await announced(say, `a worker for ${masters}+${workers}`, () =>
      timed(meta, `${PATH}/scaleup`, { nodeList }),
    );
    say(`-- ${took.toFixed(1)} s`);
    seconds.push(took);
    await timed(meta, `${PATH}/scaledown`, { nodeList: entries(members.slice(masters)) });
  }
  await removeOurs(meta, say);
  return seconds;
}

const entries = (hosts: readonly LabHost[]) => hosts.map(({ ip }) => ({ ip }));

/** Asks for an operation and awaits its result; answers seconds. */
export async function timed(meta: Meta, path: string, body: Record<string, unknown>): Promise<number> {
  const begun = performance.now();
  const { status, body: answer } = await meta.rest.raw('POST', path, body);
  if (status !== 200) throw new Error(`POST ${path} was answered by ${status} ${JSON.stringify(answer)}`);
  await untilDone(meta, NAME, OPERATION_MS);
  return (performance.now() - begun) / 1000;
}
