import { accessBy } from '#access/access.ts';
import { hostRecordsOf } from '#access/host-records.ts';
import { clustersOf } from '#access/namespace-clusters.ts';
import { systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { readPair } from '#certificates/read-pair.ts';
import { createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { createManager, type Manager } from '#runtime/process/manager.ts';
import { createMetrics } from '#runtime/process/metrics.ts';
import { createProbes } from '#runtime/process/probes.ts';
import { webhookApp } from '#webhook/app.ts';
import type { WebhookConfig } from '../config.ts';
import { httpsService, isListening } from './https-service.ts';
import { limitsIn } from './limits-file.ts';
import { offerFrom } from './offer.ts';

const CALLS_PER_SECOND = 200;

/**
 * Wires the admission webhook: config → client → app → manager. It shares no process with the REST API, so that requests
 * from outside delay no write to the API server.
 */
export async function webhookProgram(config: WebhookConfig, log: Logger): Promise<Manager> {
  const { namespace, certDir, controllerUser, serverUser } = config;
  const metrics = createMetrics();
  const endpoint = await loadEndpoint({ kubeconfig: config.kubeconfig });
  const client = createClient(endpoint, {
    userAgent: 'matryoshka-webhook',
    qps: CALLS_PER_SECOND,
    observe: metrics.client(new URL(endpoint.url).host),
  });
  const app = await webhookApp({
    log,
    offer: offerFrom(config),
    controllerUser,
    serverUser,
    hostsOf: (cluster) => hostRecordsOf(client, namespace, cluster),
    limits: limitsIn(config.limitsDir, systemClock),
    clustersIn: (of) => clustersOf(client, of),
    access: accessBy({ client, clock: systemClock, log, audiences: [] }),
    tls: readPair(certDir),
  });
  const probes = createProbes({ port: config.probePort, metrics, ready: { webhook: isListening(app) } });
  const servers = [httpsService({ name: 'webhook', app, port: config.port, certDir, log })];
  return createManager({ probes, servers, log });
}
