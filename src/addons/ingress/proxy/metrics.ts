import { once } from 'node:events';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Gauge, type Registry } from 'prom-client';
import type { RouteKeeper } from './route-keeper.ts';

const SCRAPE_MS = 4_000;

/** Registers the number of served hosts, and a part of HAProxy's own metrics. Source: haproxy 3.0, prometheus exporter. */
export function observeIngress(registry: Registry, socketPath: string, keeper: Pick<RouteKeeper, 'hosts'>) {
  new Gauge({
    name: 'matryoshka_ingress_hosts',
    help: 'Hosts with rules',
    registers: [registry],
    collect() {
      this.set(keeper.hosts);
    },
  });
  return { registry: { contentType: registry.contentType, metrics: () => metricsOf(registry, socketPath) } };
}

async function metricsOf(registry: Registry, socketPath: string): Promise<string> {
  const signal = AbortSignal.timeout(SCRAPE_MS);
  const asked = request({ socketPath, path: '/metrics', agent: false, signal }).end();
  // A scrape whose body breaks off must not end the program.
  asked.on('error', () => {});
  const [answer] = await once(asked, 'response');
  return `${await registry.metrics()}${await buffer(answer)}`;
}
