import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { streaming } from '#ansibleinit/uplink.ts';
import { sleep, systemClock } from '#base/clock.ts';
import { logStoreIn } from '#server/logs/log-store.ts';
import { restWorld } from '#server/testing/rest-world.ts';
import { receivedBy } from './etcd-received.ts';
import { type Figure, isShort, row } from './figures.ts';
import { LINES_PER_SECOND, logFor } from './log-pace.ts';

/**
 * `node bench/log-writes.ts`: measures the bytes that etcd receives while an operation logs for a minute, against the size
 * of its log. The log has the rate of a creation: twelve steps, some seven lines a second. Bytes of the idle machine are
 * subtracted.
 */
const SECONDS = Number(process.env['SECONDS'] ?? 60);
const STEPS = 12;
const REST_SECONDS = 10;
/** Maximum of etcd's bytes, as a multiple of the log. */
const BOUND = 3;

const world = await restWorld();
const dir = await mkdtemp(join(tmpdir(), 'log-writes-'));
const logs = logStoreIn(world.client, world.reportsNamespace, systemClock);
const url = await world.app.listen({ host: '127.0.0.1', port: 0 });

const received = () => receivedBy(world.etcdUrl);

/** Logs as a run does. Returns the bytes of its log and the bytes that etcd received. */
async function logged(job: string, follow: boolean): Promise<{ log: number; etcd: number }> {
  const attempt = await world.attempt(job, 'demo');
  await writeFile(join(dir, 'token'), await attempt.token());
  await writeFile(join(dir, 'ca.crt'), '');
  const way = { SERVER_URL: url, TOKEN_FILE: join(dir, 'token'), caFile: join(dir, 'ca.crt') };
  const before = await received();
  const began = performance.now();
  const uplink = streaming(way, job, () => {});
  const log = await logFor(uplink, { seconds: SECONDS, steps: STEPS }, async (number) => {
    if (follow && number % (20 * LINES_PER_SECOND) === LINES_PER_SECOND) await logs.follow(job);
  });
  await uplink.close(10_000);
  const body = { name: 'demo', namespace: world.namespace, success: true, message: 'done' };
  await world.call(await attempt.token(), 'POST', '/region/default/cluster/demo/create/callback', body);
  // The server packs the log in the background.
  await sleep(2_000);
  const seconds = (performance.now() - began) / 1000;
  return { log, etcd: (await received()) - before - seconds * atRest };
}

const first = await received();
await sleep(REST_SECONDS * 1000);
const atRest = ((await received()) - first) / REST_SECONDS;

const figures: Figure[] = [];
for (const [name, job, follow] of [
  ['KiB to etcd for a log that nobody follows, against the log', 'create-alone-1', false],
  ['KiB to etcd for a log that somebody follows, against the log', 'create-followed-1', true],
] as const) {
  const { log, etcd } = await logged(job, follow);
  figures.push({ name, ours: etcd / 1024, peer: log / 1024, bound: BOUND });
}
for (const figure of figures) process.stdout.write(`${row(figure)}\n`);
await world.stop();
await rm(dir, { recursive: true });
process.exit(figures.some(isShort) ? 1 : 0);
