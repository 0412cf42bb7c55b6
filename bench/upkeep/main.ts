import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { sleep } from '#base/clock.ts';
import { messageOf, UsageError } from '#base/errors.ts';
import { announced, sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { labDown } from '#lab/hosts/down.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { expireCertificates } from '#lab/meta/expiry.ts';
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
import { freshHosts } from '../hosts.ts';
import { ours, removeOurs } from '../ours.ts';
import { fill, restores, snapshotFigures } from './copies.ts';
import { rollbacks } from './rollbacks.ts';
import { rowsOf, served, timed, upgradeByHand, versions } from './upgrades.ts';

/** Figures of clusters that last (`make bench-upkeep`). */

const baselinePath = join(import.meta.dirname, 'baseline.tsv');
const [MASTERS, WORKERS] = [3, 2];
/** The meta cluster's host, and those of a cluster. */
const HOSTS = 1 + MASTERS + WORKERS;
const CLEAN_UP_MS = 5_000;
const RESTORES = 10;

type Add = (...figures: Figure[]) => void;

/** Creates a cluster of the version on fresh hosts. */
async function created(meta: Meta, version: string): Promise<LabHost[]> {
  const hosts = await freshHosts(say, HOSTS);
  await sleep(CLEAN_UP_MS);
  await ours(meta, hosts, say, MASTERS, 0, version);
  return hosts;
}

/** Returns the hosts on which clients use the API: a worker through its balancer, and another one. */
function clientsOn(hosts: readonly LabHost[]): readonly [LabHost, LabHost] {
  const [writer, reader] = hosts.slice(MASTERS);
  if (!writer || !reader) throw new Error('a cluster without two workers');
  return [writer, reader];
}

const PARTS: Readonly<Record<string, (meta: Meta, add: Add) => Promise<void>>> = {
  async upgrade(meta, add) {
    const { from, to } = versions();
    const hosts = await created(meta, from);
    const upgrade = await announced(say, 'upgrade', () =>
      served(meta, clientsOn(hosts), () => timed(meta, 'update', { kubeVersion: to }, say), say),
    );
    await removeOurs(meta, say);
    const forHand = await created(meta, from);
    const peer = await upgradeByHand(meta, forHand, MASTERS, say);
    await removeOurs(meta, say);
    add({ name: `upgrade ${MASTERS}+${WORKERS} (s)`, ours: upgrade.result, peer, bound: 1.1 });
    add(...rowsOf('upgrade', upgrade));
  },
  async rollback(meta, add) {
    const hosts = await created(meta, versions().from);
    const { result } = await served(meta, clientsOn(hosts), () => rollbacks(meta, hosts, say), say);
    await removeOurs(meta, say);
    add({
      name: `rollback ${MASTERS}+${WORKERS}, slowest of ${result.length} steps (s)`,
      ours: Math.max(...result),
      bound: 180,
    });
  },
  async renew(meta, add) {
    const hosts = await created(meta, versions().to);
    const renewal = await announced(say, 'renewal', () =>
      served(meta, clientsOn(hosts), () => timed(meta, 'renew', {}, say), say),
    );
    await removeOurs(meta, say);
    add({ name: `renewal ${MASTERS}+${WORKERS} (s)`, ours: renewal.result, bound: 60 });
    add(...rowsOf('renewal', renewal));
  },
  async expired(meta, add) {
    const hosts = await created(meta, versions().to);
    await expireCertificates(hosts.slice(0, MASTERS), hosts.slice(MASTERS));
    const seconds = await announced(say, 'renewal of what has expired', () => timed(meta, 'renew', {}));
    await removeOurs(meta, say);
    add({ name: `renewal ${MASTERS}+${WORKERS}, all expired (s)`, ours: seconds, bound: 120 });
  },
  async snapshot(meta, add) {
    const [master] = await created(meta, versions().to);
    if (!master) throw new Error('a cluster without a control plane');
    await announced(say, '1 GiB of data', () => fill(master, 1024, say));
    add(...(await snapshotFigures(meta, say)));
    await removeOurs(meta, say);
  },
  async restore(meta, add) {
    const hosts = await created(meta, versions().to);
    const seconds = await restores(meta, hosts.slice(0, MASTERS), MASTERS + WORKERS, RESTORES, say);
    await removeOurs(meta, say);
    add({
      name: `restore ${MASTERS}+${WORKERS}, slowest of ${RESTORES} (s)`,
      ours: Math.max(...seconds),
      bound: 90,
    });
  },
};

async function main(): Promise<void> {
  const all = Object.keys(PARTS);
  const asked = (process.env['PARTS'] ?? all.join(',')).split(',');
  const unknown = asked.find((part) => !Object.hasOwn(PARTS, part));
  if (unknown !== undefined) throw new UsageError(`PARTS is a list of ${all.join(', ')}, not ${unknown}`);
  const figures: Figure[] = [];
  const add: Add = (...more) => {
    for (const figure of more) say(row(figure));
    figures.push(...more);
  };
  const meta = await metaUp(HOSTS, say);
  try {
    for (const part of all.filter((one) => asked.includes(one))) await PARTS[part]?.(meta, add);
  } finally {
    await meta.close();
    if (process.env['KEEP'] === undefined) await labDown(say);
  }
  const about = `one run; ${availableParallelism()} cores`;
  const before = await readBaseline(baselinePath);
  const lines = [about, ...figures.map(row), ...(before === undefined ? [] : worsened(figures, before))];
  process.stdout.write(`${lines.join('\n')}\n`);
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
