import { randomUUID } from 'node:crypto';
import { JOBS, type Job, SECRETS, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { clusterModule } from '#controller/cluster/module.ts';
import { jobInstallerModule } from '#installer/job/module.ts';
import { jobSettings } from '#installer/testing/job-settings.fixture.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { clientOver } from '#runtime/client/client.ts';
import { createManager } from '#runtime/process/manager.ts';
import { quietHost } from '#runtime/testing/quiet-host.fixture.ts';
import type { Ground } from '../worlds/ground.ts';
import { type Call, createMeddler } from './faulty-caller.ts';
import { createHosts } from './hosts.ts';
import { runJobs } from './kubelet.ts';
import { judge, judgeLeftovers } from './oracles.ts';
import { type Fault, isCancelled, type Plan, RUN_FAULTS } from './plan.ts';
import { createQuiet, REST_MS } from './quiet.ts';
import { OFFERED, STEPS_DO, userOf } from './user.ts';

const LIMIT_MS = 30_000;
export interface Outcome {
  /** Problems that the oracles found; empty if the plan passed. */
  problems: string[];
  calls: readonly Call[];
  /** Faults that the run never reached. */
  unmet: Fault[];
  /** Runs of Jobs, each with its step. */
  runs: readonly { step: string; job: string }[];
  /** Whether a step was refused and then requested differently. */
  wasRefused: boolean;
  ms: number;
}

/** Runs one plan in separate namespaces, which are empty before and after it. */
export async function runPlan({ client, dir }: Pick<Ground, 'client' | 'dir'>, plan: Plan): Promise<Outcome> {
  const began = performance.now();
  const log = createLogger('silent');
  const id = randomUUID().slice(0, 8);
  const [namespace, operatorNamespace] = [`user-${id}`, `operator-${id}`];
  for (const name of [namespace, operatorNamespace]) await client.create(NAMESPACES, { metadata: { name } });
  await client.create(SECRETS, {
    metadata: { namespace, name: 'keys' },
    data: secretData({ username: 'root', 'ssh-privatekey': keyPair().private }),
  } satisfies KubeObject & { data: Record<string, string> });

  const problems: string[] = [];
  const runs: { step: string; job: string }[] = [];
  const watching = new AbortController();
  const hosts = await createHosts(dir);
  const quiet = createQuiet(LIMIT_MS, () => describe());
  const clusters = createInformer<KubernetesCluster>({
    client,
    log,
    resource: KUBERNETES_CLUSTERS,
    selection: { namespace },
  });
  const jobs = createInformer<Job>({
    client,
    log,
    resource: JOBS,
    selection: { namespace: operatorNamespace },
  });
  const meddler = createMeddler({ inner: client.caller, quiet, faults: plan.faults, namespace });
  const key = { namespace, name: 'demo' };
  const user = userOf(client, quiet, key);
  const versions: KubernetesCluster[] = [];
  clusters.addHandler({
    add: (one) => versions.push(one),
    update: (_old, one) => {
      versions.push(one);
      if (one.status?.operation?.cancelledAt !== undefined) kubelet.stopRuns();
    },
    delete: ({ metadata }) => quiet.expectGone(KUBERNETES_CLUSTERS.plural, key, metadata.uid),
  });
  const kubelet = runJobs({
    client,
    jobs,
    hosts,
    quiet,
    editSpec: user.addWorker,
    refuses: () => meddler.step === 'refused',
    cancel: () => {
      const { id } = present()?.status?.operation ?? {};
      return isCancelled(meddler.step) && id !== undefined ? () => user.cancel(id) : undefined;
    },
    faultOf: () => {
      const nth = runs.filter(({ step }) => step === meddler.step).length + 1;
      runs.push({ step: meddler.step, job: '' });
      const fault = plan.faults.find(
        (one) => isRunFault(one) && one.step === meddler.step && one.nth === nth,
      );
      if (fault) metRuns.add(fault);
      return fault;
    },
  });
  const metRuns = new Set<Fault>();
  const present = () => clusters.get(key);
  const describe = () =>
    JSON.stringify({ status: present()?.status, annotations: present()?.metadata.annotations });
  const watches = [clusters.run(watching.signal), jobs.run(watching.signal)];
  await Promise.all([clusters.whenSynced(), jobs.whenSynced()]);
  quiet.register([clusters, jobs]);

  /** Runs controllers in sequence: when one dies, the next starts. */
  let stopping = false;
  let stop: () => Promise<void> = async () => {};
  let wasRefused = false;
  const failures: unknown[] = [];
  function startOperator(): void {
    const starting = quiet.begin();
    const abort = new AbortController();
    const process = {
      alive: true,
      die: () => {
        process.alive = false;
        const restarting = quiet.begin();
        abort.abort(new Error('killed'));
        void ended.finally(() => {
          forget();
          if (!stopping) startOperator();
          restarting();
        });
      },
    };
    const host = quietHost({
      client: clientOver(meddler.callerFor(process)),
      namespace: operatorNamespace,
      clock: quiet,
      log,
      workers: 2,
    });
    const module = clusterModule({
      offer: { versions: OFFERED },
      maxOperations: 50,
      snapshotClaim: 'snapshots',
      installer: (of) => jobInstallerModule(of, jobSettings(operatorNamespace)),
    });
    const controllers = module(host);
    const caches = host.informers;
    const forget = quiet.register(caches);
    const manager = createManager({ caches, controllers, log });
    const ended = manager.run(abort.signal).catch((error: unknown) => void failures.push(error));
    void Promise.all(caches.map((cache) => cache.whenSynced(abort.signal)))
      .catch(() => {})
      .finally(starting);
    stop = async () => {
      stopping = true;
      process.alive = false;
      abort.abort(new Error('stop'));
      await ended;
      forget();
    };
  }
  const writes = () => meddler.calls.filter(({ write }) => write).length;
  const atRest = () => quiet.nextMs() >= REST_MS;

  try {
    startOperator();
    for (const step of plan.steps) {
      meddler.step = step;
      await STEPS_DO[step].ask(user);
      const { refused } = STEPS_DO[step];
      const isRefused = () => refused?.is(present()) === true;
      await quiet.until(step, () => (STEPS_DO[step].done(present()) || isRefused()) && atRest());
      if (refused && isRefused()) {
        wasRefused = true;
        await refused.ask(user);
        await quiet.until(`${step}, asked again`, () => STEPS_DO[step].done(present()) && atRest());
      }
      // A fault at this very check (a read at rest) may cost writes; the next check may not.
      let metBefore = -1;
      let before = 0;
      while (metBefore !== meddler.met.size) {
        metBefore = meddler.met.size;
        before = writes();
        quiet.runTimersOf(RESYNC_MS);
        await quiet.until(`rest after ${step}`, () => STEPS_DO[step].done(present()) && atRest());
      }
      if (writes() > before) {
        const late = meddler.calls.filter(({ write }) => write).slice(before);
        problems.push(`O1: writes at rest after ${step}: ${late.map(({ point }) => point).join(', ')}`);
      }
      const world = { client, hosts, namespace, operatorNamespace, cluster: present() };
      problems.push(...(await judgeLeftovers(world, user.hosts(step), step === 'mistyped')));
    }
  } catch (error) {
    problems.push(`O1: ${error instanceof Error ? error.message : String(error)}`);
  }
  await stop();
  watching.abort(new Error('stop'));
  await Promise.all(watches);
  problems.push(...failures.map((error) => `crashed: ${String(error)}`));
  problems.push(...(await judge({ versions, kubelet, hosts, ips: user.every() })));
  await hosts.remove();
  const unmet = plan.faults.filter((fault) => !meddler.met.has(fault) && !metRuns.has(fault));
  return { problems, calls: meddler.calls, unmet, runs, wasRefused, ms: performance.now() - began };
}

/** Resync interval, at which every cluster is reconciled again (src/controller/cluster/module.ts). */
const RESYNC_MS = 600_000;

const isRunFault = ({ kind }: Fault): boolean => RUN_FAULTS.some((one) => one === kind);
