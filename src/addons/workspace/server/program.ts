import { systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { cachesSynced, watchesAlive } from '#runtime/process/health.ts';
import { createManager, type Manager } from '#runtime/process/manager.ts';
import { createMetrics } from '#runtime/process/metrics.ts';
import { createProbes } from '#runtime/process/probes.ts';
import type { WorkspaceServerConfig } from '../../../config.ts';
import { workspaceGateway } from './gateway.ts';
import { grpcService } from './grpc-service.ts';

const CALLS_PER_SECOND = 500;

/** Wires the gRPC server of Workspaces: config → client → gateway → manager. Every replica serves; there is no leader. */
export async function workspaceServerProgram(config: WorkspaceServerConfig, log: Logger): Promise<Manager> {
  const { port, certDir, audiences } = config;
  const metrics = createMetrics();
  const endpoint = await loadEndpoint({ kubeconfig: config.kubeconfig });
  const client = createClient(endpoint, {
    userAgent: 'matryoshka-workspace-server',
    qps: CALLS_PER_SECOND,
    observe: metrics.client(new URL(endpoint.url).host),
  });
  const { gateway, workspaces } = workspaceGateway({ client, clock: systemClock, log, audiences });
  const caches = [workspaces];
  const probes = createProbes({
    port: config.probePort,
    metrics,
    live: { watches: watchesAlive(caches) },
    ready: { caches: cachesSynced(caches) },
  });
  const servers = [grpcService({ gateway, port, certDir, log })];
  return createManager({ probes, servers, caches, log });
}
