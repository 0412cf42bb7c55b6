import { sleep } from '#base/clock.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { type Figure, median } from '../figures.ts';
import { freshHosts } from '../hosts.ts';
import { NAME, ours, removeOurs } from '../ours.ts';

/**
 * Adds a worker to a large and to a small cluster: the cost should depend on the change only. Both clusters exist all the
 * time, because idle hosts of the large one use the same processors in both measurements.
 */

const LARGE = { masters: 3, workers: 10 };
const SMALL = { masters: 1, workers: 1 };
const SMALL_NAME = 'bench-small';
/** The meta cluster's host, both clusters, and the added host. */
const HOSTS = 1 + LARGE.masters + LARGE.workers + SMALL.masters + SMALL.workers + 1;
/** Additions per requested run, because two in a row may differ by a fifth. */
const TIMES = 3;
const OPERATION_MS = 8 * 60_000;
/** Pause after an addition: kubelets of new nodes are busy at first. */
const CLEAN_UP_MS = 30_000;

const sizeOf = ({ masters, workers }: typeof LARGE): string => `${masters}+${workers}`;
const pathOf = (name: string) => `/region/lab/cluster/${name}`;
const entries = (hosts: readonly LabHost[]) => hosts.map(({ ip }) => ({ ip }));

export async function addWorker(meta: Meta, runs: number, say: Say): Promise<Figure> {
  const hosts = await freshHosts(say, HOSTS);
  const etcdHosts = LARGE.masters + LARGE.workers;
  const large = hosts.slice(0, etcdHosts);
  const small = hosts.slice(etcdHosts, etcdHosts + SMALL.masters + SMALL.workers);
  const spare = hosts.slice(-1);
  await ours(meta, large, say, LARGE.masters);
  const [masterList, nodeList] = [
    entries(small.slice(0, SMALL.masters)),
    entries(small.slice(SMALL.masters)),
  ];
  const body = { name: SMALL_NAME, masterList, nodeList, privateSSHKey: meta.privateKey };
  await timed(meta, pathOf(SMALL_NAME), body, SMALL_NAME);

  const added = async (what: string, name: string, workers: readonly LabHost[]): Promise<number> => {
    await sleep(CLEAN_UP_MS);
    const wanted = { nodeList: entries([...workers, ...spare]) };
    const seconds = await announced(say, `a worker for ${what}`, () =>
      timed(meta, `${pathOf(name)}/scaleup`, wanted, name),
    );
    say(`-- ${seconds.toFixed(1)} s`);
    await timed(meta, `${pathOf(name)}/scaledown`, { nodeList: entries(workers) }, name);
    return seconds;
  };
  const measured: { ours: number; peer: number }[] = [];
  for (let time = 0; time < runs * TIMES; time += 1)
    measured.push({
      ours: await added(sizeOf(LARGE), NAME, large.slice(LARGE.masters)),
      peer: await added(sizeOf(SMALL), SMALL_NAME, small.slice(SMALL.masters)),
    });
  await meta.rest.raw('DELETE', pathOf(SMALL_NAME));
  await untilCluster(meta, SMALL_NAME, (cluster) => cluster === undefined, OPERATION_MS);
  await removeOurs(meta, say);
  return {
    name: `a worker added to ${sizeOf(LARGE)} (s), against ${sizeOf(SMALL)} beside it`,
    ours: median(measured.map((run) => run.ours)),
    peer: median(measured.map((run) => run.peer)),
    bound: 1.2,
    runs: measured,
  };
}

/** Requests an operation on that cluster and waits for its result. Returns the seconds. */
export async function timed(
  meta: Meta,
  path: string,
  body: Record<string, unknown>,
  name = NAME,
): Promise<number> {
  const begun = performance.now();
  const { status, body: answer } = await meta.rest.raw('POST', path, body);
  if (status !== 200) throw new Error(`POST ${path} was answered by ${status} ${JSON.stringify(answer)}`);
  await untilDone(meta, name, OPERATION_MS);
  return (performance.now() - begun) / 1000;
}
