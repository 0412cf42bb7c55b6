import { once } from 'node:events';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Gauge, type Registry } from 'prom-client';
import { nameOf } from './names.ts';
import type { RouteKeeper } from './route-keeper.ts';

const SCRAPE_MS = 4_000;

/**
 * Registers the number of served hosts, the Ingresses of each backend, and HAProxy's own metrics, which have the backend in
 * the label `proxy`. Source: haproxy 3.0, prometheus exporter.
 */
export function observeIngress(
  registry: Registry,
  socketPath: string,
  keeper: Pick<RouteKeeper, 'hosts' | 'users'>,
) {
  new Gauge({
    name: 'matryoshka_ingress_backend_info',
    help: 'Ingresses that use a backend of HAProxy; 1',
    labelNames: ['ingress_namespace', 'ingress', 'proxy'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [id, users] of keeper.users) {
        for (const user of users) {
          const [namespace = '', ingress = ''] = user.split('/');
          this.set({ ingress_namespace: namespace, ingress, proxy: nameOf(id) }, 1);
        }
      }
    },
  });
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
