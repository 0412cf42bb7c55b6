import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '#base/errors.ts';
import { sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { type Figure, median, readBaseline, row, spread, worsened, writeBaseline } from '../figures.ts';
import { halfOpen } from './half-open.ts';
import { type Reads, reads } from './reads.ts';
import { type Reconciled, reconciled } from './reconcile.ts';
import { sides } from './sides.ts';
import { stream } from './stream.ts';

const baselinePath = join(import.meta.dirname, 'baseline.tsv');
const RUNS = Number(process.env['RUNS'] ?? 3);
const MINUTES = Number(process.env['MINUTES'] ?? 5);

async function main(): Promise<void> {
  const both = await sides(say);
  const made = new Map<string, Reconciled[]>(both.map(({ name }) => [name, []]));
  for (let run = 1; run <= RUNS; run += 1) {
    for (const side of both) {
      const one = await reconciled(side, say);
      say(`-- run ${run}, ${side.name}: ${one.seconds.toFixed(1)} s, ${one.growth.toFixed(1)} MiB`);
      made.get(side.name)?.push(one);
    }
  }
  const { sides: read, pod } = await reads(both, RUNS, say);
  const streamed = await stream(pod, MINUTES, say);
  const silent = await halfOpen(say);

  const of = (name: 'ours' | 'peer') => ({ made: made.get(name) ?? [], read: read.get(name) });
  const [ours, peer] = [of('ours'), of('peer')];
  const compared = (name: string, bound: number, values: (side: typeof ours) => number[]): Figure => ({
    name,
    ours: median(values(ours)),
    peer: median(values(peer)),
    bound,
    runs: values(ours).map((value, run) => ({ ours: value, peer: values(peer)[run] ?? value })),
  });
  const readsOf = (pick: (one: Reads) => number[]) => (side: typeof ours) =>
    side.read ? pick(side.read) : [];
  const figures: Figure[] = [
    compared('1,000 objects to status (s)', 1, ({ made: runs }) => runs.map(({ seconds }) => seconds)),
    compared('memory for 1,000 objects (MiB)', 1.5, ({ made: runs }) => runs.map(({ growth }) => growth)),
    compared(
      'list 10,000 Pods of 4 KB (s)',
      1.5,
      readsOf(({ listSeconds }) => listSeconds),
    ),
    { name: 'event loop held up by it (ms)', ours: median(ours.read?.blocked ?? []), bound: 30 },
    { name: 'and by the work of its own thread (ms)', ours: median(ours.read?.worked ?? []), bound: 30 },
    compared(
      '8,000 calls, 16 at once (s)',
      1.1,
      readsOf(({ callSeconds }) => callSeconds),
    ),
    { name: '1,000 events a second, p99 (ms)', ours: streamed.p99Ms, bound: 50 },
    { name: 'and memory after, to before', ours: streamed.growth, bound: 1.1 },
    { name: 'half-open watch noticed (s)', ours: silent.seconds, bound: 45 },
    { name: 'healthy watches begun anew by it', ours: silent.touched, bound: 0 },
  ];
  const about = `${RUNS} runs in turn, medians; ${MINUTES} min of events; ${availableParallelism()} cores`;
  const lines = [
    about,
    `1,000 objects: ours ${spread(ours.made.map(({ seconds }) => seconds))} s, controller-runtime ${spread(peer.made.map(({ seconds }) => seconds))} s`,
    `10,000 Pods kept: ours ${spread(ours.read?.listMiB ?? [])} MiB, controller-runtime ${spread(peer.read?.listMiB ?? [])} MiB`,
    `10,000 Pods listed: ours ${spread(ours.read?.listSeconds ?? [])} s, as a WatchList ${spread(ours.read?.watchListSeconds ?? [])} s, controller-runtime ${spread(peer.read?.listSeconds ?? [])} s`,
    `8,000 calls: ours ${spread(ours.read?.callSeconds ?? [])} s, controller-runtime ${spread(peer.read?.callSeconds ?? [])} s`,
    `events: ${streamed.events} of ${streamed.sent} in order, longest ${streamed.maxMs.toFixed(1)} ms`,
  ];
  const baseline = await readBaseline(baselinePath);
  const worse = baseline === undefined ? ['no baseline yet'] : worsened(figures, baseline);
  const reported =
    worse.length > 0
      ? worse
      : ['nothing is more than 10 % worse than bench/runtime/baseline.tsv in every run'];
  process.stdout.write(`${[...lines, ...figures.map(row), ...reported].join('\n')}\n`);
  if (baseline === undefined || process.env['BASELINE'] === '1')
    await writeBaseline(baselinePath, about, figures);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${(error instanceof Error && error.stack) || messageOf(error)}\n`);
  process.exitCode = 1;
}
