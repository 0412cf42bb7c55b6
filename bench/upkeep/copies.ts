import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { Agent, fetch } from 'undici';
import { CONFIG_MAPS, type ConfigMap, PODS, type Pod } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { sleep } from '#base/clock.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { clientOf, kubeconfigOf, readyNodesOf } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { newMachines } from '#lab/meta/new-machines.ts';
import type { Figure } from '../figures.ts';
import { NAME } from '../ours.ts';
import { timed } from './upgrades.ts';

/** Snapshots of much data, and restores after all control planes were lost. */

/** Size of a large object of Kubernetes. Larger values would fill etcd's log of changes, which members hold in memory. */
const VALUE_BYTES = 16 * 1024;
const VALUES_PER_MIB = (1024 * 1024) / VALUE_BYTES;
const SAY_MIB = 64;
/** Values that are written at once. */
const PARALLEL_WRITES = 16;
const WRITE_MS = 30_000;
const BEFORE_MS = 20_000;
const ASK_MS = 50;
const SAMPLE_MS = 100;
const READY_MS = 5 * 60_000;

const ETCD_PKI = '/etc/kubernetes/pki/etcd';

/**
 * Writes random values of 16 KiB, which cannot be compressed, into etcd on a control plane. They are no objects, because API
 * servers and the controller manager would hold each object in memory.
 */
export async function fill(master: LabHost, mib: number, say: Say): Promise<void> {
  const [ca = '', cert = '', key = ''] = await Promise.all(
    ['ca.crt', 'server.crt', 'server.key'].map((file) =>
      docker(['exec', master.name, 'cat', `${ETCD_PKI}/${file}`]),
    ),
  );
  const dispatcher = new Agent({ connect: { ca, cert, key } });
  let next = 0;
  const put = async (): Promise<void> => {
    for (let at = next++; at < mib * VALUES_PER_MIB; at = next++) {
      const response = await fetch(`https://${master.ip}:2379/v3/kv/put`, {
        method: 'POST',
        body: JSON.stringify({
          key: Buffer.from(`/bench/${at}`).toString('base64'),
          value: randomBytes(VALUE_BYTES).toString('base64'),
        }),
        dispatcher,
        signal: AbortSignal.timeout(WRITE_MS),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`etcd does not write: ${text.slice(0, 300)}`);
      if (at % (SAY_MIB * VALUES_PER_MIB) === 0) say(`${at / VALUES_PER_MIB} of ${mib} MiB`);
    }
  };
  try {
    await Promise.all(Array.from({ length: PARALLEL_WRITES }, put));
  } finally {
    await dispatcher.destroy();
  }
}

const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? Number.NaN;

/** Reads an object twenty times a second until `done`, and returns the 99th percentile in ms. */
async function latency(meta: Meta, done: () => boolean): Promise<number> {
  const client = await clientOf(await kubeconfigOf(meta, NAME));
  const times: number[] = [];
  try {
    while (!done()) {
      const began = performance.now();
      await client.get<ConfigMap>(CONFIG_MAPS, { namespace: 'kube-system', name: 'kubeadm-config' });
      const took = performance.now() - began;
      times.push(took);
      await sleep(Math.max(0, ASK_MS - took));
    }
  } finally {
    await client.close();
  }
  return p99(times);
}

/** Returns the folder of a pod's control group on this machine. */
async function controlGroupOf(uid: string): Promise<string> {
  // The kubelet's names of slices have no hyphens.
  const name = `*pod${uid.replaceAll('-', '_')}.slice`;
  const { stdout } = await execa('find', ['/sys/fs/cgroup', '-type', 'd', '-name', name, '-print', '-quit']);
  if (stdout === '') throw new Error(`no control group is called ${name}`);
  return stdout;
}

/** Returns the memory of the processes of a control group, without pages of files, in MiB, by their programs. */
async function memoryIn(group: string): Promise<Map<string, number>> {
  const used = new Map<string, number>();
  const containers = await readdir(group, { withFileTypes: true }).catch(() => []);
  for (const container of containers.filter((one) => one.isDirectory())) {
    const listed = join(group, container.name, 'cgroup.procs');
    const pids = (await readFile(listed, 'utf8').catch(() => '')).split('\n').filter((pid) => pid !== '');
    for (const pid of pids) {
      // A process may end meanwhile.
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      const program = /^Name:\s+(.*)$/m.exec(status)?.[1] ?? '';
      for (const [, kib] of status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm))
        used.set(program, (used.get(program) ?? 0) + Number(kib) / 1024);
    }
  }
  return used;
}

/** Samples the memory of the pod of the next snapshot until `done`, and returns the most in MiB. */
async function mostMemory({ client }: Meta, done: () => boolean, say: Say): Promise<number> {
  let group: string | undefined;
  let most = 0;
  let parts = '';
  while (!done()) {
    if (group === undefined) {
      const { items } = await client.list<Pod>(PODS, { namespace: 'matryoshka-system' });
      const uid = items.find(
        ({ metadata, status }) => metadata.name?.startsWith('snapshot-') && status?.phase === 'Running',
      )?.metadata.uid;
      if (uid !== undefined) group = await controlGroupOf(uid);
    } else {
      const used = await memoryIn(group);
      const sum = [...used.values()].reduce((a, b) => a + b, 0);
      if (sum > most) {
        most = sum;
        parts = [...used].map(([program, mib]) => `${program} ${mib.toFixed(0)} MiB`).join(', ');
      }
    }
    await sleep(SAMPLE_MS);
  }
  say(`the most memory of the Job: ${parts}`);
  return most;
}

/** Saves a snapshot of a filled etcd. */
export async function snapshotFigures(meta: Meta, say: Say): Promise<Figure[]> {
  const end = performance.now() + BEFORE_MS;
  const before = await latency(meta, () => performance.now() > end);
  let isDone = false;
  const done = () => isDone;
  const [seconds, during, memory] = await Promise.all([
    timed(meta, 'snapshot', {}).finally(() => {
      isDone = true;
    }),
    latency(meta, done),
    mostMemory(meta, done, say),
  ]);
  say(`a snapshot of 1 GiB: ${seconds.toFixed(1)} s`);
  return [
    { name: 'snapshot of 1 GiB: p99 of reads (ms), before as peer', ours: during, peer: before, bound: 2 },
    { name: 'snapshot of 1 GiB: memory of the Job (MiB)', ours: memory, bound: 150 },
  ];
}

/** Loses all control planes and restores them, that often. Returns the seconds of each restore, to all nodes Ready. */
export async function restores(
  meta: Meta,
  masters: readonly LabHost[],
  nodes: number,
  times: number,
  say: Say,
): Promise<number[]> {
  await timed(meta, 'snapshot', {});
  const { status } = await meta.client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    namespace: 'default',
    name: NAME,
  });
  const [newest] = status?.etcdSnapshots?.stored ?? [];
  if (!newest) throw new Error('there is no snapshot');
  const found: number[] = [];
  for (let time = 1; time <= times; time += 1) {
    await newMachines(meta, NAME, masters);
    const began = performance.now();
    const body = { snapshot: newest.name, confirmDataLossSince: newest.createdAt };
    await timed(meta, 'restore', body, time === 1 ? say : undefined);
    while ((await readyNodesOf(meta, NAME).catch(() => [])).length < nodes) {
      if (performance.now() - began > READY_MS) throw new Error('not all nodes are Ready after a restore');
      await sleep(SAMPLE_MS);
    }
    const seconds = (performance.now() - began) / 1000;
    say(`restore ${time} of ${times}: ${seconds.toFixed(1)} s`);
    found.push(seconds);
  }
  return found;
}
