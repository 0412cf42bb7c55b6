import { Counter, Gauge, type Registry } from 'prom-client';
import type { DataPlane } from './data-plane.ts';
import type { RouteKeeper } from './route-keeper.ts';

/** Metrics of the proxy: read off its own counters when somebody asks, so that requests pay nothing for them. */
export function observeIngress(
  registry: Registry,
  plane: Pick<DataPlane, 'counts'>,
  keeper: Pick<RouteKeeper, 'hosts'>,
): void {
  const registers = [registry];
  const total = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  new Counter({
    name: 'matryoshka_ingress_requests_total',
    help: 'Requests that are over, by status; 0: the client had gone',
    labelNames: ['code'],
    registers,
    collect() {
      this.reset();
      for (const [code, times] of Object.entries(plane.counts().byStatus)) this.inc({ code }, times);
    },
  });
  total('matryoshka_ingress_request_seconds_total', 'Time of all requests', () => plane.counts().seconds);
  total(
    'matryoshka_ingress_request_bytes_total',
    'Bytes of bodies of requests',
    () => plane.counts().bytesIn,
  );
  total(
    'matryoshka_ingress_response_bytes_total',
    'Bytes of bodies of answers',
    () => plane.counts().bytesOut,
  );
  new Gauge({
    name: 'matryoshka_ingress_connections',
    help: 'Connections of clients',
    registers,
    collect() {
      this.set(plane.counts().connections);
    },
  });
  new Gauge({
    name: 'matryoshka_ingress_hosts',
    help: 'Hosts with rules',
    registers,
    collect() {
      this.set(keeper.hosts);
    },
  });
}
