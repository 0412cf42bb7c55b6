import { findCondition } from '#api/conditions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { randomFrom } from '#base/testing/random.ts';
import { sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { KINDS, type Kind } from '#lab/drift-kinds.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Figure } from '../figures.ts';
import { freshHosts } from '../hosts.ts';
import { NAME, ours, removeOurs } from '../ours.ts';

/** Measures the delay until each kind of manual change of a host is reported, and counts reports without a change. */

/** Number of changes of one host at once, as many as a condition names. */
const AT_ONCE = 3;
const REPORT_MS = 3 * 60_000;

const asMade = (cluster: KubernetesCluster | undefined) =>
  findCondition(cluster?.status?.conditions, 'HostsAsMade');
const untilAsMade = (meta: Meta) =>
  untilCluster(meta, NAME, (cluster) => asMade(cluster)?.status === 'True', REPORT_MS);

/** The order is random; the same `seed` repeats it. `minutes`: duration without changes at the end. */
export async function drift(meta: Meta, seed: number, minutes: number): Promise<Figure[]> {
  const hosts = (await freshHosts(say, 3)).slice(0, 2);
  await ours(meta, hosts, say);
  await untilAsMade(meta);
  say(`-- SEED=${seed}`);
  const random = randomFrom(seed);
  const left = KINDS.map((kind) => ({ kind, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ kind }) => kind);
  let slowest = 0;
  for (let kinds = batchOf(left); kinds.length > 0; kinds = batchOf(left))
    slowest = Math.max(slowest, await reported(meta, hosts, kinds));
  const invented = await inventedIn(meta, minutes);
  await removeOurs(meta, say);
  return [
    { name: `${KINDS.length} kinds of drift told, the slowest (s)`, ours: slowest, bound: 60 },
    { name: `drift invented in ${minutes} min`, ours: invented, bound: 0 },
  ];
}

/** Returns the object that a kind changes; two kinds that change the same object are not made at once. */
const subjectOf = ([, , says]: Kind) => /\S*\/(\S+?)( |$)|(\S+)\.service/.exec(says)?.[0] ?? says;

/** Removes some kinds from the list and returns them. */
function batchOf(left: Kind[]): Kind[] {
  const batch: Kind[] = [];
  for (const kind of [...left]) {
    if (batch.length === AT_ONCE) break;
    if (kind[2].startsWith('unit ') && batch.some(([, , says]) => says.startsWith('unit '))) continue;
    if (batch.some((other) => subjectOf(other) === subjectOf(kind))) continue;
    batch.push(kind);
    left.splice(left.indexOf(kind), 1);
  }
  return batch;
}

async function reported(meta: Meta, hosts: readonly LabHost[], kinds: readonly Kind[]): Promise<number> {
  const on = (index: number, script: string) =>
    docker(['exec', hosts[index]?.name ?? '', 'sh', '-ec', script], 60_000);
  const made: Kind[] = [];
  try {
    const seconds: number[] = [];
    const waits = [];
    for (const kind of kinds) {
      const [index, [change], says] = kind;
      await on(index, change);
      made.push(kind);
      const begun = performance.now();
      const seen = untilCluster(
        meta,
        NAME,
        (one) => asMade(one)?.message?.includes(says) === true,
        REPORT_MS,
      );
      waits.push(
        seen.then(() => {
          seconds.push((performance.now() - begun) / 1000);
          say(`${seconds.at(-1)?.toFixed(1)} s: ${says}`);
        }),
      );
    }
    await Promise.all(waits);
    return Math.max(...seconds);
  } finally {
    for (const [index, [, back]] of made) await on(index, back);
    await untilAsMade(meta);
  }
}

/** Counts drift reports in this number of minutes, in which no host is changed. */
async function inventedIn(meta: Meta, minutes: number): Promise<number> {
  let [times, last] = [0, 'True'];
  const check = (cluster: KubernetesCluster | undefined) => {
    const status = asMade(cluster)?.status ?? 'absent';
    if (status !== last && status !== 'True') times += 1;
    last = status;
    return false;
  };
  await untilCluster(meta, NAME, check, minutes * 60_000).catch(() => undefined);
  return times;
}
