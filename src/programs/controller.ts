import { systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { firstEnd } from '#certificates/served-until.ts';
import { apiServersOf } from '#controller/certificate/api-servers.ts';
import type { ClusterModuleSettings } from '#controller/cluster/module.ts';
import { jobInstallerModule } from '#installer/job/module.ts';
import { createClient } from '#runtime/client/client.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { createRecorder } from '#runtime/events/recorder.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { createElection } from '#runtime/leader/leader.ts';
import { createControllerHost } from '#runtime/process/controller-host.ts';
import { cachesSynced, watchesAlive, workersAlive } from '#runtime/process/health.ts';
import { createManager, type Manager } from '#runtime/process/manager.ts';
import { createMetrics } from '#runtime/process/metrics.ts';
import { createProbes } from '#runtime/process/probes.ts';
import type { ControllerConfig } from '../config.ts';
import { modulesOf } from './controllers.ts';
import { offerFrom } from './offer.ts';
import { lastSpansOf, tracerOf } from './tracer.ts';

/** Number of clusters probed in parallel: a cluster that hangs holds a place until its probe times out. */
const PROBES_AT_ONCE = 8;

/** Returns the settings of probes of clusters; undefined if there are none. */
const healthOf = ({ healthIntervalSeconds, healthDeadlineSeconds }: ControllerConfig) =>
  healthIntervalSeconds === 0
    ? undefined
    : {
        intervalMs: healthIntervalSeconds * 1000,
        deadlineMs: healthDeadlineSeconds * 1000,
        workers: PROBES_AT_ONCE,
      };

/**
 * Returns the name of the Lease. Programs with the same controllers are replicas of each other; programs with others are
 * not.
 */
const leaseOf = ({ controllers }: ControllerConfig): string =>
  controllers.includes('kubernetescluster')
    ? 'matryoshka-controller'
    : `matryoshka-${[...controllers].sort().join('-')}`;

/** Wires the operator: config → client → manager → controllers. */
export async function controllerProgram(config: ControllerConfig, log: Logger): Promise<Manager> {
  const { namespace, identity, workers } = config;
  const clock = systemClock;
  const metrics = createMetrics();
  const endpoint = await loadEndpoint({ kubeconfig: config.kubeconfig });
  const client = createClient(endpoint, {
    userAgent: 'matryoshka-controller',
    qps: config.kubeApiQps,
    observe: metrics.client(new URL(endpoint.url).host),
  });
  const lease = leaseOf(config);
  const recorder = createRecorder({ client, component: 'matryoshka', instance: identity, log });
  const election = createElection({
    client,
    lease: { namespace, name: lease },
    identity: `${identity}_${process.pid}_${Date.now()}`,
    log,
    observe: metrics.election(lease),
  });
  const leading = scopedClient(client, { mayWrite: election.isLeading });
  const { term } = election;
  const host = createControllerHost({
    ...{ client: leading, namespace, clock, log, recorder, workers, metrics, term },
  });
  const tracer = tracerOf(config.otlpEndpoint, 'matryoshka-controller', log);
  const clusters = (): ClusterModuleSettings => ({
    offer: offerFrom(config),
    health: healthOf(config),
    snapshotClaim: config.snapshotClaim,
    addSpan: tracer?.add,
    maxOperations: config.maxOperations,
    maxOperationsPerNamespace: config.maxOperationsPerNamespace,
    installer: (of) =>
      jobInstallerModule(of, {
        namespace,
        reportsNamespace: config.reportsNamespace,
        image: config.runnerImage,
        serviceAccount: config.runnerServiceAccount,
        hookServiceAccount: config.hookServiceAccount,
        serverUrl: config.serverUrl,
        caConfigMap: config.caConfigMap,
        caSecret: config.caSecret,
        siteConfigMap: config.siteConfigMap,
        snapshotClaim: config.snapshotClaim,
        otlpEndpoint: config.otlpEndpoint,
      }),
  });
  const certificates = { servedUntil: async () => firstEnd(await apiServersOf(client, endpoint.url)) };
  const controllers = modulesOf(config.controllers, { clusters, certificates }).flatMap((module) =>
    module(host),
  );
  const caches = host.informers;
  const probes = createProbes({
    port: config.probePort,
    metrics,
    live: { workers: workersAlive(controllers), watches: watchesAlive(caches) },
    ready: { caches: cachesSynced(caches) },
  });
  return createManager({
    probes,
    servers: lastSpansOf(tracer),
    caches,
    election,
    controllers,
    recorder,
    log,
  });
}
