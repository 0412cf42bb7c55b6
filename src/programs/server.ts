import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { readPair } from '#certificates/read-pair.ts';
import { createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { createManager, type Manager } from '#runtime/process/manager.ts';
import { createMetrics } from '#runtime/process/metrics.ts';
import { createProbes } from '#runtime/process/probes.ts';
import { restApp } from '#server/app.ts';
import { requestMetrics } from '#server/http/request-metrics.ts';
import type { ServerConfig } from '../config.ts';
import { httpsService, isListening } from './https-service.ts';
import { limitsIn } from './limits-file.ts';
import { loginFrom } from './login.ts';
import { offerFrom } from './offer.ts';
import { lastSpansOf, tracerOf } from './tracer.ts';

/** The bundle has the page beside it. */
const PAGE = join(import.meta.dirname, 'page');
const CALLS_PER_SECOND = 200;
const REVIEWS_PER_SECOND = 100;

/** Wires the REST API: config → client → app → manager. Every replica serves; there is no leader. */
export async function serverProgram(config: ServerConfig, log: Logger): Promise<Manager> {
  const { namespace, certDir, audiences, runnerServiceAccount } = config;
  const metrics = createMetrics();
  const endpoint = await loadEndpoint({ kubeconfig: config.kubeconfig });
  const observe = metrics.client(new URL(endpoint.url).host);
  const client = (qps: number) => createClient(endpoint, { userAgent: 'matryoshka-server', qps, observe });
  const offer = offerFrom(config);
  const tracer = tracerOf(config.otlpEndpoint, 'matryoshka-server', log);
  const rest = await restApp({
    client: client(CALLS_PER_SECOND),
    tokenClient: client(REVIEWS_PER_SECOND),
    jobClient: client(CALLS_PER_SECOND),
    clock: systemClock,
    log,
    namespace,
    reportsNamespace: config.reportsNamespace,
    offer,
    limits: limitsIn(config.limitsDir, systemClock),
    observeRequest: requestMetrics(metrics.registry),
    pageDir: existsSync(PAGE) ? PAGE : undefined,
    login: loginFrom(config),
    addSpan: tracer?.add,
    audiences,
    runnerServiceAccount,
    tls: readPair(certDir),
  });
  const probes = createProbes({
    port: config.probePort,
    metrics,
    ready: { rest: isListening(rest) },
  });
  const servers = [
    ...lastSpansOf(tracer),
    httpsService({ name: 'rest', app: rest, port: config.port, certDir, log }),
  ];
  return createManager({ probes, servers, log });
}
