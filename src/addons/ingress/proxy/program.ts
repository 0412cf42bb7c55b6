import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { createHaproxy } from './haproxy.ts';
import { metricsSocket } from './locations.ts';
import { observeIngress } from './metrics.ts';
import { createRouteKeeper } from './route-keeper.ts';
import { CONNECTIONS_PER_THREAD, DEFAULT_SETTINGS, type ProxySettings } from './settings.ts';
import { OWN_HOST, type Served } from './state.ts';
import { checkNetworks } from './trusted-proxies.ts';

const CALLS_PER_SECOND = 50;
const MAX_THREADS = 8;

/** Files and sockets that HAProxy needs for itself, besides two for each connection. */
const OWN_FILES = 1_000;

/** Returns the number of connections that the limit of open files of this process allows. Source: proc_pid_limits(5). */
function connectionsFor(threads: number): number {
  const limit = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  const asked = CONNECTIONS_PER_THREAD * threads;
  return Number.isNaN(limit) ? asked : Math.max(1, Math.min(asked, Math.floor((limit - OWN_FILES) / 2)));
}

function settingsOf(config: IngressProxyConfig): ProxySettings {
  const { httpPort, httpsPort, trustedProxies, proxyProtocol, accessLog, maxBodyBytes } = config;
  const { idleSeconds, tunnelIdleSeconds } = config;
  const threads = config.workers > 0 ? config.workers : Math.min(availableParallelism(), MAX_THREADS);
  return {
    ...DEFAULT_SETTINGS,
    ...{ httpPort, httpsPort, trustedProxies, proxyProtocol, accessLog, maxBodyBytes },
    ...{ idleSeconds, tunnelIdleSeconds, threads, connections: connectionsFor(threads) },
  };
}

/** Creates the folder of HAProxy's files. Removes the files of an earlier process, such as keys. */
async function emptyFolder(directory: string | undefined): Promise<string> {
  if (directory === undefined) return mkdtemp(join(tmpdir(), 'haproxy-'));
  // Not "haproxy": Debian has such folders in /etc, /run and /var/lib.
  const folder = join(directory, 'matryoshka-ingress');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  return folder;
}

/** Wires the proxy of Ingresses: config → client → routes → HAProxy. Every replica serves; none writes to the API. */
export async function ingressProxyProgram(config: IngressProxyConfig, log: Logger): Promise<Manager> {
  checkNetworks(config.trustedProxies);
  const clock = systemClock;
  const metrics = createMetrics();
  const endpoint = await loadEndpoint({ kubeconfig: config.kubeconfig });
  const client = createClient(endpoint, {
    userAgent: 'matryoshka-ingress-proxy',
    qps: CALLS_PER_SECOND,
    observe: metrics.client(new URL(endpoint.url).host),
  });
  const folder = await emptyFolder(config.directory);
  const own = await createServerCertificate(await createAuthority(), [OWN_HOST], []);
  const haproxy = createHaproxy({
    ...{ binary: config.haproxy, folder, settings: settingsOf(config), own, clock, log },
  });
  let isDraining = false;
  const publish = (served: Served) => void haproxy.apply(served);
  const keeper = createRouteKeeper({ client, clock, log, publish });

  const probes = createProbes({
    port: config.probePort,
    metrics: observeIngress(metrics.registry, metricsSocket({ folder, adminSocket: '' }), keeper),
    live: { watches: watchesAlive(keeper.informers) },
    ready: {
      caches: cachesSynced(keeper.informers),
      haproxy: () => (haproxy.isServing() ? undefined : 'not started yet'),
      stopping: () => (isDraining ? 'requests under way are ended' : undefined),
    },
  });
  const server = {
    name: 'ingress',
    start: async () => {},
    async stop() {
      await haproxy.close(AbortSignal.timeout(config.drainSeconds * 1000));
      await rm(folder, { recursive: true, force: true });
    },
  };
  const stopTimeoutMs = (config.drainSeconds + 5) * 1000;
  const manager = createManager({ probes, servers: [server], caches: keeper.informers, log, stopTimeoutMs });
  return {
    async run(signal) {
      const ending = new AbortController();
      // The keeper rejects only when the signal aborts.
      keeper.start(signal).catch(() => {});
      // Load balancers notice the shutdown before HAProxy stops listening. Routes follow changes until then.
      void aborted(signal).then(async () => {
        isDraining = true;
        // This call waits for changes in progress, which may take longer than the sleep.
        void haproxy.shed();
        await sleep(config.shedSeconds * 1000);
        ending.abort(signal.reason);
      });
      await manager.run(ending.signal);
    },
  };
}
