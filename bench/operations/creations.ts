import { sleep } from '#base/clock.ts';
import { sayOnStderr as say } from '#lab/artifacts/progress.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byHand } from '../by-hand.ts';
import { type Figure, median } from '../figures.ts';
import { freshHosts } from '../hosts.ts';
import { ours, removeOurs } from '../ours.ts';

const CLEAN_UP_MS = 5_000;

/** Number of control planes, workers, and etcd members on separate hosts. */
export interface Shape {
  readonly masters: number;
  readonly workers: number;
  readonly hosts?: number;
}

/**
 * Creates clusters of a shape with the operator and by hand, in turn, each on fresh hosts. The last one of ours stays, on
 * the first hosts of `atLeast` or more.
 */
export async function creations(
  meta: Meta,
  { masters, workers, hosts = 0 }: Shape,
  bound: number,
  runs: number,
  atLeast = 0,
): Promise<Figure> {
  const measured: { ours: number; peer: number }[] = [];
  const used = masters + workers + hosts;
  const fresh = async () => (await freshHosts(say, Math.max(atLeast, used + 1))).slice(0, used);
  for (let run = 1; run <= runs; run += 1) {
    const forHand = await fresh();
    await sleep(CLEAN_UP_MS);
    const peer = await byHand(meta.artifactsUrl, forHand, say, masters, hosts);
    const forOurs = await fresh();
    await sleep(CLEAN_UP_MS);
    const made = await ours(meta, forOurs, say, masters, hosts);
    measured.push({ ours: made.seconds, peer: peer.seconds });
    say(`-- ours ${made.seconds.toFixed(1)} s, by hand ${peer.seconds.toFixed(1)} s`);
    if (run < runs) await removeOurs(meta, say);
  }
  const middle = (side: 'ours' | 'peer') => median(measured.map((one) => one[side]));
  const name = `create ${[masters, ...(hosts > 0 ? [hosts] : []), workers].join('+')} (s)`;
  return { name, ours: middle('ours'), peer: middle('peer'), bound, runs: measured };
}
