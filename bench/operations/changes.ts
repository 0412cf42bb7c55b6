import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { isResultValue } from '#api/operation-values.ts';
import { sleep } from '#base/clock.ts';
import { announced, sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { startHistory } from '#lab/history/run.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { kubeconfigOf, untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Figure } from '../figures.ts';
import { freshHosts } from '../hosts.ts';
import { NAME, ours, PATH, removeOurs } from '../ours.ts';
import { timed } from './add-worker.ts';

/** Measures the effect on clients while control planes and etcd change, and the time until a cancellation takes effect. */

const OPERATION_MS = 8 * 60_000;
/** Pause of each of five clients that write and read during the changes: some fifty requests a second. */
const PAUSE_MS = 150;
/** Seconds after the start of a host's preparation, which consists of downloads, unpacking and waits. */
const CANCELLED_AFTER = [0, 2, 5];

/** Three control planes, a worker, and one host that is temporarily an etcd member or a worker. */
const MASTERS = 3;
const HOSTS = 1 + MASTERS + 1 + 1;

const entries = (...hosts: (LabHost | undefined)[]) =>
  hosts.flatMap((host) => (host ? [{ ip: host.ip }] : []));

export async function changes(meta: Meta): Promise<Figure[]> {
  const hosts = await freshHosts(say, HOSTS);
  const [first, second, third, worker, spare] = hosts;
  if (!first || !worker || !spare) throw new Error('there are too few hosts');
  await ours(meta, [first, worker], say);
  const end = await startHistory(worker.name, await kubeconfigOf(meta, NAME), PAUSE_MS, () => {});
  let report: Awaited<ReturnType<typeof end>>;
  try {
    const done = (what: string, path: string, body: Record<string, unknown>) =>
      announced(say, what, () => timed(meta, `${PATH}${path}`, body));
    await done('etcd from one member to three', '/scaleup', { masterList: entries(first, second, third) });
    await done('etcd to a host of its own', '/etcd/move', { etcdList: entries(spare) });
    await done('etcd back to three', '/etcd/move', { etcdList: [] });
  } finally {
    report = await end();
  }
  say(`-- ${JSON.stringify(report)}`);
  const cancelled: number[] = [];
  for (const after of CANCELLED_AFTER) {
    const seconds = await cancelledAfter(meta, after, entries(worker, spare));
    say(`-- cancelled ${after} s into the preparation of a host: ${seconds.toFixed(1)} s`);
    cancelled.push(seconds);
    await timed(meta, `${PATH}/scaledown`, { nodeList: entries(worker) });
  }
  await removeOurs(meta, say);
  return [
    {
      name: `requests that failed of ${report.operations}, while etcd went 1, 3, apart, 3`,
      ours: report.failed?.length ?? 0,
      bound: 0,
    },
    { name: 'their order is none that one copy gives', ours: report.linearizable === 'Ok' ? 0 : 1, bound: 0 },
    { name: 'cancelled to whole hosts, the longest (s)', ours: Math.max(...cancelled), bound: 10 },
  ];
}

/** Cancels the addition of a worker some seconds after its preparation began. Returns the seconds to the result. */
async function cancelledAfter(meta: Meta, after: number, nodeList: { ip: string }[]): Promise<number> {
  const { status } = await meta.rest.raw('POST', `${PATH}/scaleup`, { nodeList });
  if (status !== 200) throw new Error(`POST was answered by ${status}`);
  const at = (step: string) =>
    untilCluster(meta, NAME, (one) => one?.status?.operation?.step === step, OPERATION_MS);
  await at('Prepare hosts');
  await sleep(after * 1000);
  const begun = performance.now();
  const answer = await meta.rest.raw('POST', `${PATH}/cancel`, {});
  if (answer.status !== 202) throw new Error(`the cancellation was answered by ${answer.status}`);
  await untilCluster(meta, NAME, (one) => one?.status?.operation?.result === 'cancelled', OPERATION_MS);
  const seconds = (performance.now() - begun) / 1000;
  // The operation annotation changes after the object's status, and until then no other request is possible.
  const word = (one: KubernetesCluster | undefined) => one?.metadata.annotations?.[annotations.operation];
  await untilCluster(meta, NAME, (one) => isResultValue(word(one)), OPERATION_MS);
  return seconds;
}
