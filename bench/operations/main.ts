import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { messageOf, UsageError } from '#base/errors.ts';
import { announced, sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { docker } from '#lab/hosts/docker.ts';
import { labDown } from '#lab/hosts/down.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { untilDone } from '#lab/meta/cluster.ts';
import { type Meta, metaUp } from '#lab/meta/meta.ts';
import {
  amendBaseline,
  type Figure,
  isShort,
  readBaseline,
  row,
  worsened,
  writeBaseline,
} from '../figures.ts';
import { secondsOf } from '../log-milestones.ts';
import { NAME, PATH, removeOurs } from '../ours.ts';
import { addWorker, timed } from './add-worker.ts';
import { changes } from './changes.ts';
import { creations } from './creations.ts';
import { drift } from './drift.ts';
import { gaps } from './reachable.ts';
import { watching } from './rest.ts';

/** Figures of operations (`make bench-operations`). */

const baselinePath = join(import.meta.dirname, 'baseline.tsv');
/** The meta cluster's host, three control planes, a worker, and one spare. */
const HOSTS = 6;
const MASTERS = 3;
const RESTING = 5;
const OPERATION_MS = 8 * 60_000;
/** Maximum time of a creation, as a multiple of kubeadm by hand. */
const [ONE_CONTROL_PLANE, THREE_CONTROL_PLANES] = [1.1, 1.3];

function numberOf(name: string, preset: string): number {
  const text = process.env[name] ?? preset;
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError(`${name} is a number from 1, not ${text}`);
  return Number(text);
}

interface Much {
  /** Number of creations of each side, and of additions of a worker. */
  readonly runs: number;
  /** Number of times that a control plane is lost. */
  readonly times: number;
  /** Minutes in which false drift reports are counted. */
  readonly minutes: number;
  readonly seed: number;
}

const at = (hosts: readonly LabHost[], index: number): LabHost => {
  const host = hosts[index];
  if (!host) throw new Error(`there is no host ${index}`);
  return host;
};

async function reachable(meta: Meta, times: number): Promise<Figure[]> {
  const workers = [at(meta.hosts, MASTERS)];
  const found = await gaps(meta.hosts.slice(0, MASTERS), workers, times, say);
  const sorted = found.map(({ seconds }) => seconds).sort((a, b) => a - b);
  const p99 = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.NaN;
  return [
    { name: `API reachable again on every host, p99 of ${times} (s)`, ours: p99, bound: 4 },
    {
      name: 'nodes of other hosts NotReady meanwhile',
      ours: found.flatMap(({ notReady }) => notReady).length,
      bound: 0,
    },
  ];
}

/** Kills the first control plane, which the spare host replaces. */
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

/** Parts that can be measured separately, in this order. */
const PARTS: Readonly<Record<string, (meta: Meta, much: Much, add: Add) => Promise<void>>> = {
  async small(meta, { runs }, add) {
    for (const workers of [2, 3]) {
      add(await creations(meta, { masters: 1, workers }, ONE_CONTROL_PLANE, runs));
      await removeOurs(meta, say);
    }
  },
  async external(meta, { runs }, add) {
    add(await creations(meta, { masters: MASTERS, workers: 1, hosts: 3 }, THREE_CONTROL_PLANES, runs));
    await removeOurs(meta, say);
  },
  async three(meta, { runs, times }, add) {
    add(await creations(meta, { masters: MASTERS, workers: 1 }, THREE_CONTROL_PLANES, runs, HOSTS));
    add(...(await reachable(meta, times)));
    add(await replaced(meta));
    add(await resets(meta));
    await removeOurs(meta, say);
  },
  changes: async (meta, _much, add) => add(...(await changes(meta))),
  drift: async (meta, { seed, minutes }, add) => add(...(await drift(meta, seed, minutes))),
  rest: async (meta, _much, add) => add(...(await watching(meta, RESTING))),
  add: async (meta, { runs }, add) => add(await addWorker(meta, runs, say)),
};
type Add = (...figures: Figure[]) => void;

function partsOf(text: string): string[] {
  const parts = text.split(',');
  const unknown = parts.find((part) => !Object.hasOwn(PARTS, part));
  if (unknown !== undefined)
    throw new UsageError(`PARTS is a list of ${Object.keys(PARTS).join(', ')}, not ${unknown}`);
  return parts;
}

async function main(): Promise<void> {
  const all = Object.keys(PARTS);
  const asked = partsOf(process.env['PARTS'] ?? all.join(','));
  const much: Much = {
    runs: numberOf('RUNS', '3'),
    times: numberOf('TIMES', '50'),
    minutes: numberOf('MINUTES', '60'),
    seed: numberOf('SEED', String(1 + (Date.now() % 99_999))),
  };
  const figures: Figure[] = [];
  const add: Add = (...more) => {
    for (const figure of more) say(row(figure));
    figures.push(...more);
  };
  const meta = await metaUp(HOSTS, say);
  try {
    for (const part of all.filter((one) => asked.includes(one))) await PARTS[part]?.(meta, much, add);
  } finally {
    await meta.close();
    if (process.env['KEEP'] === undefined) await labDown(say);
  }
  const about = `${much.runs} creations a side in turn, medians; ${availableParallelism()} cores`;
  const before = await readBaseline(baselinePath);
  const lines = [about, ...figures.map(row), ...(before === undefined ? [] : worsened(figures, before))];
  process.stdout.write(`${lines.join('\n')}\n`);
  // The whole takes hours, so a part may update its own figures; the first baseline has all.
  const isWhole = asked.length === all.length;
  if (isWhole && (before === undefined || process.env['BASELINE'] !== undefined))
    await writeBaseline(baselinePath, about, figures);
  else if (before !== undefined && process.env['BASELINE'] !== undefined)
    await amendBaseline(baselinePath, figures);
  if (figures.some(isShort)) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  const text =
    error instanceof UsageError ? error.message : (error instanceof Error && error.stack) || messageOf(error);
  process.stderr.write(`bench: ${text}\n`);
  process.exitCode = 1;
}
