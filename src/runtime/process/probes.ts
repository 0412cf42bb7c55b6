import { createServer, type Server, type ServerResponse } from 'node:http';
import { messageOf } from '#base/errors.ts';
import type { Service } from './manager.ts';
import type { Metrics } from './metrics.ts';

/** Returns undefined if all is well, else the problem in one line. */
export type Check = () => string | undefined;

export interface ProbesOptions {
  port: number;
  /** Address to listen at. Default: all addresses. */
  host?: string | undefined;
  /** Checks whose failure restarts the pod, so each must be a fault that a restart repairs. */
  live?: Readonly<Record<string, Check>> | undefined;
  /** Checks whose failure takes the pod out of the Service. */
  ready?: Readonly<Record<string, Check>> | undefined;
  metrics?: { registry: Pick<Metrics['registry'], 'contentType' | 'metrics'> } | undefined;
}

/**
 * Serves the kubelet and Prometheus: /healthz, /livez, /readyz (200 or 503, one line for each check) and /metrics. `port()`
 * is the actual port, after start.
 */
export function createProbes(options: ProbesOptions): Service & { port(): number } {
  const { live = {}, ready = {}, metrics } = options;
  let server: Server | undefined;
  const routes: Readonly<Record<string, (response: ServerResponse) => void | Promise<void>>> = {
    '/healthz': (response) => answer(response, live),
    '/livez': (response) => answer(response, live),
    '/readyz': (response) => answer(response, ready),
    '/metrics': async (response) => {
      if (!metrics) return notFound(response);
      const body = await metrics.registry.metrics();
      response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(body);
    },
  };
  return {
    name: 'probes',
    start() {
      const made = createServer({ requestTimeout: 5000, headersTimeout: 5000 }, async (request, response) => {
        try {
          const route = routes[(request.url ?? '').split('?')[0] ?? ''];
          if (route && (request.method === 'GET' || request.method === 'HEAD')) await route(response);
          else notFound(response);
        } catch (error) {
          response.writeHead(500).end(`${messageOf(error)}\n`);
        }
      });
      server = made;
      return new Promise((resolve, reject) => {
        made.once('error', reject);
        made.listen(options.port, options.host, () => {
          made.off('error', reject);
          resolve();
        });
      });
    },
    stop() {
      return new Promise((resolve) => {
        if (!server) return resolve();
        server.close(() => resolve());
        // Prometheus keeps its connection open, and the stop must not wait for it.
        server.closeAllConnections();
      });
    },
    port() {
      const address = server?.address();
      return typeof address === 'object' && address !== null ? address.port : options.port;
    },
  };
}

function answer(response: ServerResponse, checks: Readonly<Record<string, Check>>): void {
  const lines: string[] = [];
  let failed = false;
  for (const [name, check] of Object.entries(checks)) {
    const problem = outcome(check);
    failed ||= problem !== undefined;
    lines.push(problem === undefined ? `[+] ${name} ok` : `[-] ${name}: ${problem}`);
  }
  response.writeHead(failed ? 503 : 200, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${[...lines, failed ? 'failed' : 'ok'].join('\n')}\n`);
}

function outcome(check: Check): string | undefined {
  try {
    return check();
  } catch (error) {
    return messageOf(error);
  }
}

function notFound(response: ServerResponse): void {
  response.writeHead(404).end('not found\n');
}
