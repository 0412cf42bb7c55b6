import { randomUUID } from 'node:crypto';
import { PODS, type Pod, SECRETS, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import type { HealthSettings } from '#controller/cluster/health/observer.ts';
import type { ClusterModuleSettings } from '#controller/cluster/module.ts';
import { jobInstallerModule } from '#installer/job/module.ts';
import { jobSettings } from '#installer/testing/job-settings.fixture.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { NAMESPACES, SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { createInformer, type Informer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { createManager } from '#runtime/process/manager.ts';
import { quietHost } from '#runtime/testing/quiet-host.fixture.ts';
import { isAlreadyExists } from '#runtime/wire/api-error.ts';
import { modulesOf } from '../../src/programs/controllers.ts';
import { withinNamespace, withLabel } from './one-namespace.ts';
import { type Ending, endJobs } from './scripted-jobs.ts';

async function ensure(client: Client, resource: Resource, object: KubeObject): Promise<void> {
  try {
    await client.create(resource, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** A kubeconfig without certificates, for code that only stores it. */
export const KUBECONFIG = 'apiVersion: v1\nkind: Config\nusers: [{name: a, user: {}}]\n';

/** A running cluster controller on the run's API server, whose Jobs end as a script defines. */
export interface TestOperator {
  client: Client;
  namespace: string;
  operatorNamespace: string;
  started: string[];
  clusters: Informer<KubernetesCluster>;
  apply(
    name: string,
    spec: KubernetesCluster['spec'],
    word?: string,
    requestId?: string,
  ): Promise<KubernetesCluster>;
  get(name: string): Promise<KubernetesCluster | undefined>;
  /** Resolves when the cluster satisfies the test; rejects after 30 s with the state of the cluster. */
  until(
    name: string,
    holds: (cluster: KubernetesCluster | undefined) => boolean,
  ): Promise<KubernetesCluster | undefined>;
  /** Stops the controller and starts a new one, as a restart does; the new one may offer other versions. */
  restart(versions?: readonly string[]): Promise<void>;
  /** Stops the controller until the next restart. */
  stopController(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestOperatorOptions {
  clock?: Clock;
  /** Probe settings for created clusters. Default: no probes, because most kubeconfigs point at no server. */
  health?: HealthSettings;
  /** Operations that run at once. Default: the program's default. */
  maxOperations?: number;
  /** Whether it runs hooks (--allow-hooks). Default: false. */
  allowHooks?: boolean;
  /** Claim of the volume for snapshots. Default: none. */
  snapshotClaim?: string;
  /** Selects clusters with this label in all namespaces. Default: the clusters of its own namespace. */
  label?: string;
  /** Called for the span of every operation. Default: there are no traces. */
  addSpan?: ClusterModuleSettings['addSpan'];
  /** Called for every Event. */
  onEvent?(reason: string, message: string): void;
  /** Returns the client that the controller uses, after the namespaces exist. Default: a cluster admin's. */
  clientOf?(admin: Client, operatorNamespace: string): Promise<Client>;
}

export async function startOperator(
  kubeconfig: string,
  script: (job: string, hosts: string[]) => Ending | Promise<Ending>,
  {
    clock = systemClock,
    clientOf = async (admin) => admin,
    health,
    maxOperations = 50,
    allowHooks = false,
    snapshotClaim,
    addSpan,
    label,
    onEvent,
  }: TestOperatorOptions = {},
): Promise<TestOperator> {
  const client = createClient(await loadEndpoint({ kubeconfig }), { userAgent: 'matryoshka-test' });
  const log = createLogger('silent');
  const id = randomUUID().slice(0, 8);
  const [namespace, operatorNamespace] = [`user-${id}`, `operator-${id}`];
  await installCrds(client);
  for (const name of [namespace, operatorNamespace]) await ensure(client, NAMESPACES, { metadata: { name } });
  await client.create(SECRETS, {
    metadata: { namespace, name: 'keys' },
    data: secretData({ username: 'root', 'ssh-privatekey': keyPair().private }),
  } satisfies KubeObject & { data: Record<string, string> });

  for (const name of ['runner', 'hook'])
    await ensure(client, SERVICE_ACCOUNTS, { metadata: { namespace: operatorNamespace, name } });

  const watching = new AbortController();
  const clusters = createInformer<KubernetesCluster>({
    client,
    log,
    resource: KUBERNETES_CLUSTERS,
    selection: { namespace },
  });
  const pods = createInformer<Pod>({
    client,
    log,
    resource: PODS,
    selection: { namespace: operatorNamespace },
  });
  const { started } = endJobs(client, pods, script);
  const watches = [clusters.run(watching.signal), pods.run(watching.signal)];
  await Promise.all([clusters.whenSynced(), pods.whenSynced()]);

  const mine = await clientOf(client, operatorNamespace);
  const own = label === undefined ? withinNamespace(mine, namespace) : withLabel(label, mine);
  function run(versions: readonly string[] = ['v1.34.4']): { stop(): Promise<void> } {
    const abort = new AbortController();
    const host = quietHost({
      client: own,
      namespace: operatorNamespace,
      clock,
      workers: 4,
      recorder: { event: (_of, _type, reason, message) => onEvent?.(reason, message), stop: async () => {} },
    });
    const clusters = (): ClusterModuleSettings => ({
      offer: { versions, hooks: allowHooks },
      health,
      snapshotClaim,
      addSpan,
      maxOperations,
      // The test operator has one namespace, so both limits are the same.
      maxOperationsPerNamespace: maxOperations,
      installer: (of) => jobInstallerModule(of, jobSettings(operatorNamespace)),
    });
    // No certificate ends soon.
    const certificates = { servedUntil: async () => new Date('2999-01-01') };
    const names = ['kubernetescluster', 'certificate'];
    const controllers = modulesOf(names, { clusters, certificates }).flatMap((module) => module(host));
    const manager = createManager({ caches: host.informers, controllers, log });
    const ended = manager.run(abort.signal);
    return {
      stop: async () => {
        abort.abort(new Error('stop'));
        await ended;
      },
    };
  }
  let operator = run();
  const keyOf = (name: string) => ({ namespace, name });

  return {
    client,
    namespace,
    operatorNamespace,
    started,
    clusters,
    apply: (name, spec, word, requestId) => {
      const wanted: KubernetesCluster = {
        metadata: {
          ...keyOf(name),
          annotations: {
            ...(word === undefined ? {} : { [annotations.operation]: word }),
            ...(requestId === undefined ? {} : { [annotations.requestId]: requestId }),
          },
        },
        spec: { ...spec, cluster: { ...spec.cluster, credentialsSecret: 'keys' } },
      };
      return client.apply<KubernetesCluster>(KUBERNETES_CLUSTERS, wanted, {
        fieldManager: 'test',
        force: true,
      });
    },
    get: (name) => client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(name)),
    until: (name, holds) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const cluster = clusters.get(keyOf(name));
          if (!holds(cluster)) return;
          clearTimeout(timer);
          leave();
          resolve(cluster);
        };
        const timer = setTimeout(() => {
          leave();
          const { status, metadata } = clusters.get(keyOf(name)) ?? {};
          reject(
            new Error(
              `it stands so: ${JSON.stringify({ status, annotations: metadata?.annotations, started }, null, 1)}`,
            ),
          );
        }, 30_000);
        // The awaited state may depend on a pod, because `started` changes with pods.
        const handlers = [clusters, pods].map((seen) =>
          seen.addHandler({ add: check, update: check, delete: check }),
        );
        const leave = () => {
          for (const forget of handlers) forget();
        };
        queueMicrotask(check);
      }),
    restart: async (versions) => {
      await operator.stop();
      operator = run(versions);
    },
    stopController: () => operator.stop(),
    stop: async () => {
      await operator.stop();
      watching.abort(new Error('stop'));
      await Promise.all(watches);
      await own.close();
      await client.close();
    },
  };
}
