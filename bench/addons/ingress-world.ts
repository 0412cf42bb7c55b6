import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import pMap from 'p-map';
import { CONTROLLER_NAME } from '#addons/ingress/routing/classes.ts';
import { SERVICES, type Service } from '#api/core.ts';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  type IngressClass,
  SERVICE_NAME_LABEL,
} from '#api/networking.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { haproxyProgram } from '#lab/haproxy/program.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import type { Side } from './load.ts';
import { pinned } from './processes.ts';

const AT_ONCE = 8;
export const namespace = 'default';

/** Returns an address of this machine: the API server accepts no loopback address as endpoint. */
export function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (!found) throw new Error('this machine has no IPv4 address besides the loopback');
  return found.address;
}

export const hostOf = (at: number): string => `h${at}.example`;

export const ingressTo = (service: string, at: number): Ingress & { spec: object } => {
  const backend = { service: { name: service, port: { number: 80 } } };
  const http = { paths: [{ path: '/', pathType: 'Prefix', backend }] };
  return {
    metadata: { namespace, name: `i${at}` },
    spec: { ingressClassName: 'matryoshka', rules: [{ host: hostOf(at), http }] },
  };
};

export interface IngressWorld {
  client: Client;
  /** Starts the program as installed, with this number of serving processes. */
  proxy(workers: number): Promise<Side>;
}

/**
 * Starts an API server with Services, by name and the port of their endpoint here, and `count` Ingresses that point at the
 * first.
 */
export async function ingressWorld(
  stack: AsyncDisposableStack,
  ports: ReadonlyMap<string, number>,
  count: number,
  say: Say,
): Promise<IngressWorld> {
  const server = stack.use(await startApiServer({ say }));
  const kubeconfig = server.kubeconfigPath;
  const client = createClient(await loadEndpoint({ kubeconfig }), { userAgent: 'bench' });
  stack.defer(() => client.close());
  const klass: IngressClass = { metadata: { name: 'matryoshka' }, spec: { controller: CONTROLLER_NAME } };
  await client.create<IngressClass>(INGRESS_CLASSES, klass);
  for (const [name, port] of ports) {
    await client.create<Service>(SERVICES, {
      metadata: { namespace, name },
      spec: { ports: [{ port: 80 }] },
    });
    await client.create<EndpointSlice>(ENDPOINT_SLICES, {
      metadata: { namespace, name, labels: { [SERVICE_NAME_LABEL]: name } },
      ...{ addressType: 'IPv4', ports: [{ name: '', port }], endpoints: [{ addresses: [ownAddress()] }] },
    });
  }
  const program = await haproxyProgram(say);
  const [first = ''] = ports.keys();
  const all = Array.from({ length: count }, (_, at) => ingressTo(first, at));
  await pMap(all, (ingress) => client.create<Ingress>(INGRESSES, ingress), { concurrency: AT_ONCE });

  return {
    client,
    async proxy(workers) {
      const [http = 0, https = 0, probes = 0] = await freePorts(3);
      const argv = [process.execPath, join(import.meta.dirname, '../../src/main.ts'), 'ingress-proxy'];
      argv.push(
        `--workers=${workers}`,
        `--kubeconfig=${kubeconfig}`,
        '--access-log=false',
        `--haproxy=${program}`,
      );
      argv.push(`--http-port=${http}`, `--https-port=${https}`, `--probe-port=${probes}`);
      argv.push('--shed-seconds=0', '--drain-seconds=1', '--log-level=error');
      return { process: stack.use(await pinned('0,1', argv, http)), port: http };
    },
  };
}
