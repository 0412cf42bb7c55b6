import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { JOBS, type Job, SECRETS, secretData } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { randomFrom } from '#base/testing/random.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import type { Ground } from '../worlds/ground.ts';
import { createHosts } from './hosts.ts';
import { runJobs } from './kubelet.ts';
import { judge, judgeLeftovers } from './oracles.ts';
import { createQuiet } from './quiet.ts';
import { OFFERED, STEPS_DO, userOf } from './user.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
/** A new process waits until the lease of the killed one expires, so a step with many kills takes long. */
const STEP_LIMIT_MS = 180_000;
/** The kill happens at one of the first six writes; a process that lives longer may have nothing left to do. */
const MOMENTS = 6;

interface Killed {
  problems: string[];
  killed: number;
}

/**
 * Runs one life of a cluster under real processes of the controller. Each process is ended by `kill -9` at one of its first
 * writes, and the next starts at once. Each step has `deaths` kills, at moments that depend on the seed.
 */
export async function liveThroughKills(
  { client, dir }: Pick<Ground, 'client' | 'dir'>,
  kubeconfig: string,
  { seed, deaths }: { seed: number; deaths: number },
): Promise<Killed> {
  const random = randomFrom(seed);
  const log = createLogger('silent');
  const [namespace, operatorNamespace] = [`user-k${seed}`, `operator-k${seed}`];
  for (const name of [namespace, operatorNamespace]) await client.create(NAMESPACES, { metadata: { name } });
  await client.create(SECRETS, {
    metadata: { namespace, name: 'keys' },
    data: secretData({ username: 'root', 'ssh-privatekey': keyPair().private }),
  } satisfies KubeObject & { data: Record<string, string> });
  const site = await mkdtemp(join(dir, 'site-'));
  await writeFile(
    join(site, 'artifacts.json'),
    JSON.stringify({
      baseUrl: 'http://none',
      releases: Object.fromEntries(OFFERED.map((version) => [version, {}])),
    }),
  );

  const watching = new AbortController();
  const selection = { namespace: operatorNamespace };
  const clusters = createInformer<KubernetesCluster>({
    client,
    log,
    resource: KUBERNETES_CLUSTERS,
    selection: { namespace },
  });
  const jobs = createInformer<Job>({ client, log, resource: JOBS, selection });
  const records = createInformer({ client, log, resource: HOSTS, selection });
  const quiet = createQuiet(STEP_LIMIT_MS, () => '');
  const hosts = await createHosts(dir);
  const user = userOf(client, quiet, { namespace, name: 'demo' });
  const kubelet = runJobs({
    client,
    jobs,
    hosts,
    quiet,
    faultOf: () => undefined,
    refuses: () => false,
    cancel: () => undefined,
    editSpec: async () => {},
  });
  const versions: KubernetesCluster[] = [];
  clusters.addHandler({ add: (one) => versions.push(one), update: (_old, one) => versions.push(one) });

  let killed = 0;
  let left = 0;
  let fuse = 0;
  let process_: ChildProcess | undefined;
  const arm = () => {
    fuse = left > 0 ? 1 + Math.floor(random() * MOMENTS) : Number.POSITIVE_INFINITY;
  };
  /** Counts writes; the process that makes the last of them is killed. */
  const onWrite = () => {
    fuse -= 1;
    if (fuse > 0 || left === 0) return;
    left -= 1;
    killed += 1;
    arm();
    process_?.kill('SIGKILL');
  };
  for (const informer of [clusters, jobs, records])
    informer.addHandler({ add: onWrite, update: onWrite, delete: onWrite });
  const watches = [clusters, jobs, records].map((informer) => informer.run(watching.signal));
  await Promise.all([clusters, jobs, records].map((informer) => informer.whenSynced()));

  let stopping = false;
  const start = () => {
    const flags = {
      kubeconfig,
      namespace: operatorNamespace,
      'reports-namespace': operatorNamespace,
      'site-dir': site,
      'probe-port': '0',
      'log-level': 'error',
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    process_ = spawn(process.execPath, [MAIN, 'controller', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    process_.once('exit', () => {
      if (!stopping) start();
    });
  };
  start();

  const problems: string[] = [];
  const present = () => clusters.get({ namespace, name: 'demo' });
  try {
    for (const step of ['create', 'delete'] as const) {
      left = deaths;
      arm();
      await STEPS_DO[step].ask(user);
      await until(step, () => STEPS_DO[step].done(present()), clusters);
      left = 0;
      // The remaining process cleans up after the result, and the last steps of a deletion show nowhere else.
      const world = () => ({ client, hosts, namespace, operatorNamespace, cluster: present() });
      problems.push(
        ...(await settled(async () => leftoversOf(await judgeLeftovers(world(), user.hosts(step))))),
      );
    }
  } catch (error) {
    problems.push(`O1: ${error instanceof Error ? error.message : String(error)}`);
  }
  stopping = true;
  if (process_) {
    const ended = once(process_, 'exit');
    process_.kill('SIGTERM');
    await ended;
  }
  watching.abort(new Error('stop'));
  await Promise.all(watches);
  problems.push(...(await judge({ versions, kubelet, hosts, ips: user.every() })));
  await hosts.remove();
  await rm(site, { recursive: true, force: true });
  return { problems, killed };
}

/** Filters out the lease of the controller itself, which belongs there. */
const leftoversOf = (problems: string[]): string[] =>
  problems.filter((text) => text !== 'O5: left over leases matryoshka-controller');

/** Asks until there are no problems, or until the time limit. */
async function settled(ask: () => Promise<string[]>): Promise<string[]> {
  const limitMs = performance.now() + 30_000;
  for (;;) {
    const problems = await ask();
    if (problems.length === 0 || performance.now() > limitMs) return problems;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function until(
  what: string,
  holds: () => boolean,
  clusters: { addHandler(handler: { add(): void; update(): void; delete(): void }): () => void },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      leave();
      reject(new Error(`${what} was not done within ${STEP_LIMIT_MS / 1000} s`));
    }, STEP_LIMIT_MS);
    const check = () => {
      if (!holds()) return;
      clearTimeout(timer);
      leave();
      resolve();
    };
    const leave = clusters.addHandler({ add: check, update: check, delete: check });
    queueMicrotask(check);
  });
}
