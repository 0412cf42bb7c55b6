import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { messageOf } from '#base/errors.ts';
import { announced, sayOnStderr as say } from '#lab/artifacts/progress.ts';
import type { Client } from '#runtime/client/client.ts';
import { type Figure, readBaseline, row, worsened, writeBaseline } from '../figures.ts';
import { simulateKubelet } from './kubelet.ts';
import { measureLarge } from './large.ts';
import { startOperator } from './operator.ts';
import { createClusters, OPERATOR_NAMESPACE, startWorld, writeRate } from './world.ts';
import { type Counts, countRequests, mostAsked, writesBetween } from './writes.ts';

const baselinePath = join(import.meta.dirname, 'baseline.tsv');
const setting = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const ARRIVING = setting('ARRIVING', 1_000);
const HELD = setting('HELD', 4_000);
const HOSTS = setting('HOSTS', 1_000);
const IDLE_MINUTES = setting('IDLE_MINUTES', 10);
const CLEAN_UP_MS = 10_000;
const WAIT_MS = 15 * 60_000;
const JOB_MS = 1_000;

async function measure(): Promise<{ figures: Figure[]; lines: string[] }> {
  const world = await startWorld(say);
  const { client, clusters, server } = world;
  const lines: string[] = [];
  const start = (identity: string) => startOperator(server.kubeconfigPath, OPERATOR_NAMESPACE, identity);
  const stopKubelet = await simulateKubelet(client, OPERATOR_NAMESPACE, JOB_MS);
  try {
    const rate = await writeRate(client, 3_000);
    let operator = await start('first');
    const empty = await operator.residentMiB();
    const before = await countRequests(client);
    const began = performance.now();
    await announced(say, `${ARRIVING} clusters arrive`, async () => {
      await createClusters(client, 0, ARRIVING);
      await clusters.running(ARRIVING, WAIT_MS);
    });
    const arrival = (performance.now() - began) / 1_000;
    const after = await countRequests(client);
    const writes = writesBetween(before, after);
    lines.push(
      `${ARRIVING} clusters: ${writes} writes, ${(writes / ARRIVING).toFixed(1)} each; at the ${rate.toFixed(0)} writes a second that the server takes from one client alone, ${(writes / rate).toFixed(1)} s of ${arrival.toFixed(1)} s`,
    );
    lines.push(`asked for each, by anyone: ${mostAsked(before, after, ARRIVING)}`);
    lines.push(
      `operator: ${(await operator.cpuSeconds()).toFixed(1)} s of processor time, ${empty.toFixed(0)} MiB before`,
    );
    await announced(say, `${HELD - ARRIVING} more`, async () => {
      await createClusters(client, ARRIVING, HELD - ARRIVING);
      await clusters.running(HELD, WAIT_MS);
    });
    const idleBefore = await announced(say, 'until nothing is written any more', () => atRest(client));
    const cpuBefore = await operator.cpuSeconds();
    await announced(say, `${IDLE_MINUTES} idle minutes`, () => sleep(IDLE_MINUTES * 60_000));
    const idleAfter = await countRequests(client);
    const idleWrites = writesBetween(idleBefore, idleAfter, false);
    lines.push(`asked for each of the ${HELD} held: ${mostAsked(idleBefore, idleAfter, HELD)}`);
    const idleCpu = ((await operator.cpuSeconds()) - cpuBefore) / (IDLE_MINUTES * 60);
    const held = await operator.residentMiB();

    await operator.kill('SIGTERM');
    operator = await start('restarted');
    const restart = operator.readySeconds;
    let name = HELD;
    const takeover = async (signal: 'SIGKILL' | 'SIGTERM') => {
      const follower = await start(`follower-${signal}`);
      const killed = performance.now();
      const gone = operator.kill(signal);
      await createClusters(client, name, 1);
      await clusters.accepted(`cluster-${name}`, 60_000);
      const seconds = (performance.now() - killed) / 1_000;
      name += 1;
      await gone;
      operator = follower;
      return seconds;
    };
    // The starting process must become the leader before the standby starts.
    await clusters.running(HELD, WAIT_MS);
    const afterKill = await takeover('SIGKILL');
    const afterTerm = await takeover('SIGTERM');
    await operator.kill('SIGTERM');
    const figures: Figure[] = [
      { name: `${ARRIVING} clusters to Running (s)`, ours: arrival, bound: 60 },
      { name: `${HELD} held: resident (MiB)`, ours: held, bound: 200 },
      { name: `${HELD} held: of a core, idle (%)`, ours: idleCpu * 100, bound: 1.5 },
      { name: `${HELD} held: writes in ${IDLE_MINUTES} idle minutes`, ours: idleWrites, bound: 0 },
      { name: `${HELD} held: restart to synced (s)`, ours: restart, bound: 8 },
      { name: 'leader killed, the other acts (s)', ours: afterKill, bound: 15 },
      { name: 'leader told to go, the other acts (s)', ours: afterTerm, bound: 3 },
    ];
    return { figures, lines };
  } finally {
    await stopKubelet();
    await world.stop();
  }
}

/** Waits until the operator has cleaned up: resolves after a period without a write. */
async function atRest(client: Client): Promise<Counts> {
  const end = performance.now() + WAIT_MS;
  let before = await countRequests(client);
  while (performance.now() < end) {
    await sleep(CLEAN_UP_MS);
    const after = await countRequests(client);
    if (writesBetween(before, after, false) === 0) return after;
    before = after;
  }
  throw new Error(`writes go on ${WAIT_MS / 60_000} minutes after the last cluster is Running`);
}

try {
  await announced(say, 'bundle', () =>
    execa(process.execPath, [join(import.meta.dirname, '../../deploy/bundle.ts')], { stdin: 'ignore' }),
  );
  const large = await measureLarge(say, HOSTS);
  const fleet = await measure();
  const figures = [...fleet.figures, ...large.figures];
  const lines = [...fleet.lines, ...large.lines];
  const about = `Jobs of ${JOB_MS / 1_000} s, simulated; ${availableParallelism()} cores`;
  const baseline = await readBaseline(baselinePath);
  const worse = baseline === undefined ? ['no baseline yet'] : worsened(figures, baseline);
  const reported =
    worse.length > 0 ? worse : ['nothing is more than 10 % worse than bench/fleet/baseline.tsv'];
  process.stdout.write(`${[about, ...lines, ...figures.map(row), ...reported].join('\n')}\n`);
  if (baseline === undefined || process.env['BASELINE'] === '1')
    await writeBaseline(baselinePath, about, figures);
} catch (error) {
  process.stderr.write(`bench: ${(error instanceof Error && error.stack) || messageOf(error)}\n`);
  process.exitCode = 1;
}
