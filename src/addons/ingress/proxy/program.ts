import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import { pino } from 'pino';
import { aborted } from '#base/abort.ts';
import { sleep, systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { cachesSynced, watchesAlive } from '#runtime/process/health.ts';
import { createManager, type Manager } from '#runtime/process/manager.ts';
import { createMetrics } from '#runtime/process/metrics.ts';
import { createProbes } from '#runtime/process/probes.ts';
import type { IngressProxyConfig } from '../../../config.ts';
import type { DataPlane } from './data-plane.ts';
import { trustIn } from './forwarded.ts';
import { DEFAULT_LIMITS, type Limits } from './limits.ts';
import { observeIngress } from './metrics.ts';
import { createRouteKeeper } from './route-keeper.ts';
import { dataPlaneOf, runWorker } from './worker.ts';
import { createWorkers } from './workers.ts';

const CALLS_PER_SECOND = 50;
const MAX_WORKERS = 8;
/** Name of the certificate for hosts that have none. */
const OWN_NAME = 'ingress.invalid';
/** Lines of several processes go to one pipe: what is written at once must not be torn. */
const PIPE_BYTES = 4_096;
const FLUSH_MS = 1_000;

function accessLog(): (line: string) => void {
  const lines = pino.destination({ dest: 1, sync: false, minLength: PIPE_BYTES / 2, maxWrite: PIPE_BYTES });
  setInterval(() => lines.flush(), FLUSH_MS).unref();
  process.once('exit', () => lines.flushSync());
  return (line) => void lines.write(line);
}

const limitsOf = (config: IngressProxyConfig): Limits => ({
  ...DEFAULT_LIMITS,
  bodyBytes: config.maxBodyBytes,
  requestMs: config.requestSeconds * 1000,
  idleMs: config.idleSeconds * 1000,
  tunnelIdleMs: config.tunnelIdleSeconds * 1000,
});

/** Wires the proxy of Ingresses: config → client → routes → data plane. Every replica serves; none writes anything. */
export async function ingressProxyProgram(config: IngressProxyConfig, log: Logger): Promise<Manager> {
  if (cluster.isWorker) return { run: () => runWorker(accessLog()) };
  trustIn(config.trustedProxies);
  const clock = systemClock;
  const metrics = createMetrics();
  const endpoint = await loadEndpoint({ kubeconfig: config.kubeconfig });
  const client = createClient(endpoint, {
    userAgent: 'matryoshka-ingress-proxy',
    qps: CALLS_PER_SECOND,
    observe: metrics.client(new URL(endpoint.url).host),
  });
  const { httpPort, httpsPort, trustedProxies } = config;
  const start = {
    ...{ host: undefined, httpPort, httpsPort, trustedProxies, accessLog: config.accessLog },
    limits: limitsOf(config),
    own: await createServerCertificate(await createAuthority(), [OWN_NAME], []),
  };
  const count = config.workers > 0 ? config.workers : Math.min(availableParallelism(), MAX_WORKERS);
  let isKnown = false;
  let isDraining = false;
  const keeper = createRouteKeeper({ client, clock, log, publish: (update) => plane.apply(update) });
  const plane: DataPlane =
    count === 1
      ? dataPlaneOf({ ...start, update: undefined }, accessLog())
      : createWorkers({ count, start, whole: () => (isKnown ? keeper.whole() : undefined), clock, log });
  observeIngress(metrics.registry, plane, keeper);

  const probes = createProbes({
    port: config.probePort,
    metrics,
    live: { watches: watchesAlive(keeper.informers) },
    ready: {
      caches: cachesSynced(keeper.informers),
      routes: () => (isKnown ? undefined : 'not known yet'),
      stopping: () => (isDraining ? 'requests under way are ended' : undefined),
    },
  });
  const server = {
    name: 'ingress',
    start: async () => void (await plane.listen()),
    stop: () => plane.close(AbortSignal.timeout(config.drainSeconds * 1000)),
  };
  const stopTimeoutMs = (config.drainSeconds + 5) * 1000;
  const manager = createManager({ probes, servers: [server], caches: keeper.informers, log, stopTimeoutMs });
  return {
    async run(signal) {
      const ending = new AbortController();
      void keeper.start(signal).then(
        () => {
          isKnown = true;
        },
        () => {},
      );
      // Whoever balances learns of the end before the doors close; routes follow changes until then.
      void aborted(signal).then(async () => {
        isDraining = true;
        plane.shed();
        await sleep(config.shedSeconds * 1000);
        ending.abort(signal.reason);
      });
      await manager.run(ending.signal);
    },
  };
}
