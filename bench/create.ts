import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { sleep } from '#base/clock.ts';
import { messageOf, UsageError } from '#base/errors.ts';
import { announced, sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { labDown } from '#lab/hosts/down.ts';
import { type Meta, metaUp } from '#lab/meta/meta.ts';
import { breakdown } from './breakdown.ts';
import { byHand } from './by-hand.ts';
import { type Figure, median, readBaseline, row, spread, worsened, writeBaseline } from './figures.ts';
import { freshHosts, HOSTS } from './hosts.ts';
import { bundledOperator, residentMiB, secondsToListen } from './operator.ts';
import { ours, removeOurs } from './ours.ts';
import type { Run } from './run.ts';

const baselinePath = join(import.meta.dirname, 'baseline.tsv');
/** Pause after hosts were created or a cluster was removed. */
const CLEAN_UP_MS = 5_000;
const STARTS = 5;

interface Measured {
  ours: Run[];
  byHand: Run[];
  resident: number[];
  listening: number[];
}

function wantedRuns(): number {
  const text = process.env['RUNS'] ?? '5';
  if (!/^[1-9]\d?$/.test(text)) throw new UsageError(`RUNS is a number from 1 to 99, not ${text}`);
  return Number(text);
}

async function measure(meta: Meta, runs: number, dist: string): Promise<Measured> {
  const measured: Measured = { ours: [], byHand: [], resident: [], listening: [] };
  for (let run = 1; run <= runs; run += 1) {
    say(`-- run ${run} of ${runs}`);
    const forOurs = await freshHosts(say);
    await sleep(CLEAN_UP_MS);
    measured.ours.push(await ours(meta, forOurs, say));
    measured.resident.push(await residentMiB(meta));
    await removeOurs(meta, say);
    const forHand = await freshHosts(say);
    await sleep(CLEAN_UP_MS);
    measured.byHand.push(await byHand(meta.artifactsUrl, forHand, say));
    say(
      `-- ours ${measured.ours.at(-1)?.seconds.toFixed(1)} s, by hand ${measured.byHand.at(-1)?.seconds.toFixed(1)} s`,
    );
  }
  // No cluster runs now, so the operator's start has the machine for itself.
  await freshHosts(say);
  await sleep(CLEAN_UP_MS);
  await announced(say, 'the operator listens', async () => {
    for (let start = 0; start < STARTS; start += 1)
      measured.listening.push(await secondsToListen(meta, dist));
  }).catch((error: unknown) => {
    // Earlier results are still reported; a figure without a value misses its bound.
    say(`the operator did not start: ${messageOf(error)}`);
    measured.listening.push(Number.NaN);
  });
  return measured;
}

async function report({ ours: made, byHand: typed, resident, listening }: Measured): Promise<void> {
  const secondsOf = (runs: readonly Run[]) => runs.map(({ seconds }) => seconds);
  const runs = made.map(({ seconds }, run) => ({ ours: seconds, peer: typed[run]?.seconds ?? seconds }));
  const figures: Figure[] = [
    {
      name: 'create 1+2 (s)',
      ours: median(secondsOf(made)),
      peer: median(secondsOf(typed)),
      bound: 1.1,
      runs,
    },
    { name: 'operator listening (s)', ours: median(listening), bound: 1 },
    { name: 'operator resident (MiB)', ours: median(resident), bound: 150 },
  ];
  const about = `${made.length} runs in turn, medians; ${availableParallelism()} cores`;
  const lines = [
    about,
    `ours ${spread(secondsOf(made))} s, by hand ${spread(secondsOf(typed))} s`,
    `listening ${spread(listening, 2)} s, resident ${spread(resident)} MiB`,
    ...breakdown('ours', made),
    ...breakdown('by hand', typed),
  ];
  const baseline = await readBaseline(baselinePath);
  const worse = baseline === undefined ? ['no baseline yet'] : worsened(figures, baseline);
  const compared =
    worse.length > 0 ? worse : ['nothing is more than 10 % worse than bench/baseline.tsv in every run'];
  process.stdout.write(`${[...lines, ...figures.map(row), ...compared].join('\n')}\n`);
  if (baseline === undefined || process.env['BASELINE'] === '1') {
    await writeBaseline(baselinePath, about, figures);
  }
}

async function main(): Promise<void> {
  const runs = wantedRuns();
  // The bundle comes first: if it fails, no half hour of measurement is lost.
  await using operator = await bundledOperator();
  try {
    const meta = await metaUp(HOSTS, say);
    try {
      await report(await measure(meta, runs, operator.dist));
    } finally {
      await meta.close();
    }
  } finally {
    if (process.env['KEEP'] !== '1') await labDown(say);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(
    `bench: ${error instanceof UsageError ? error.message : (error instanceof Error && error.stack) || messageOf(error)}\n`,
  );
  process.exitCode = 1;
}
