import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  request,
} from 'node:http';
import { request as requestTls } from 'node:https';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterAll, beforeAll } from 'vitest';
import { SERVICES, type Service } from '#api/core.ts';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESSES,
  type Ingress,
  type IngressAddress,
  SERVICE_NAME_LABEL,
} from '#api/networking.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { haproxyProgram } from '#lab/haproxy/program.ts';
import type { Client } from '#runtime/client/client.ts';
import { namespaceOf, serverNameOf } from '../../installation.ts';
import { type AddonWorld, useAddon } from '../../testing/addon-world.fixture.ts';
import { ingress } from '../addon.ts';
import { createHaproxy, type Haproxy } from '../proxy/haproxy.ts';
import { createRouteKeeper } from '../proxy/route-keeper.ts';
import { DEFAULT_SETTINGS } from '../proxy/settings.ts';
import type { Served } from '../proxy/state.ts';

export interface Answer {
  status: number;
  text: string;
  version: string;
  headers: IncomingHttpHeaders;
  /** Path that the endpoint was asked for; '' if no endpoint answered. */
  asked: string;
}
export interface Asking {
  method?: string;
  /** CA of the host's certificate; if set, the request uses TLS. */
  ca?: string;
}
export interface IngressWorld extends AddonWorld {
  /** Returns a host that is unique to this file, because all files share the API server. */
  host(short: string): string;
  /** Sends a request to the proxy. */
  ask(host: string, path?: string, how?: Asking): Promise<Answer>;
  /** Sets the addresses of the proxy's Service; undefined: none. */
  reachedAt(addresses: readonly IngressAddress[] | undefined): Promise<void>;
  /** Returns the name in the certificate that the proxy shows for a host. */
  shownFor(host: string): Promise<string>;
  /** Creates a Service without pods, at port 80, whose endpoints answer with their name; '' never answers. */
  service(name: string, endpoints: readonly string[], namespace?: string): Promise<void>;
  /** Creates an Ingress of our class; `rules`: `[host, path, Service, path type]`. */
  ingress(
    name: string,
    rules: readonly (readonly [host: string, path: string, service: string, type?: string])[],
    more?: NonNullable<Ingress['spec']>,
    namespace?: string,
  ): Promise<Ingress>;
  sliceOf(service: string, endpoints: readonly string[], namespace?: string): Promise<void>;
}

/** Returns an address of this machine: the API server accepts no endpoint on the loopback. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (!found) throw new Error('this machine has no IPv4 address besides the loopback');
  return found.address;
}

/**
 * Runs controller and proxy of Ingresses, each with exactly the rights of its installation. Call it at the top of a test
 * file of the `api` project. `observed` wraps the controller's client; `kubeconfigPath` is that of the file's own API
 * server.
 */
export function useIngresses(
  observed?: (client: Client) => Client,
  kubeconfigPath?: () => string,
): IngressWorld {
  const test = useAddon(ingress, systemClock, observed, {
    everywhere: true,
    ...(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
  });
  const ending = new AbortController();
  const undo: (() => unknown)[] = [];
  const ports = new Map<string, number>();
  let proxy: Haproxy | undefined;
  let folder = '';
  let listening = { httpPort: 0, httpsPort: 0 };
  const suffix = randomUUID().slice(0, 8);
  const address = ownAddress();

  async function portFor(name: string): Promise<number> {
    const there = ports.get(name);
    if (there !== undefined) return there;
    const answer: RequestListener = ({ method, url, httpVersion, headers }, answer) => {
      const asked = `${method} ${url} HTTP/${httpVersion} ${headers.host} ${headers['user-agent']}`;
      const length = Buffer.byteLength(name);
      answer.writeHead(200, { 'content-type': 'text/plain', 'content-length': length, 'x-asked': asked });
      answer.end(name);
    };
    const server = createServer(answer).listen(0, address);
    await once(server, 'listening');
    undo.push(() => {
      server.close();
      server.closeAllConnections();
    });
    const bound = server.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    ports.set(name, port);
    return port;
  }

  beforeAll(async () => {
    const client = await test.clientAs(serverNameOf(ingress));
    const own = await createServerCertificate(await createAuthority(), ['own.invalid'], []);
    const log = createLogger('silent');
    folder = await mkdtemp(join(tmpdir(), 'haproxy-'));
    const [httpPort = 0, httpsPort = 0] = await freePorts(2);
    listening = { httpPort, httpsPort };
    const serving = createHaproxy({
      ...{ binary: await haproxyProgram(), folder, own, clock: systemClock, log },
      settings: {
        ...DEFAULT_SETTINGS,
        ...{ host: '127.0.0.1', httpPort, httpsPort, threads: 1, connections: 1_000 },
      },
    });
    const started = Promise.withResolvers<void>();
    const publish = (served: Served) => void serving.apply(served).then(started.resolve);
    const keeper = createRouteKeeper({ client, clock: systemClock, log, publish });
    const running = keeper.informers.map((informer) => informer.run(ending.signal));
    await keeper.start();
    await started.promise;
    proxy = serving;
    undo.push(
      () => Promise.all(running),
      () => client.close(),
    );
  });
  afterAll(async () => {
    ending.abort(new Error('stop'));
    await proxy?.close(AbortSignal.abort());
    await rm(folder, { recursive: true, force: true });
    for (const one of undo.reverse()) await one();
  });

  const world = {
    host: (short: string) => `${short}.${suffix}.example`,
    async ask(host: string, path = '/', { method = 'GET', ca }: Asking = {}): Promise<Answer> {
      const to = { host: '127.0.0.1', path, method, agent: false } as const;
      const asked =
        ca === undefined
          ? request({ ...to, port: listening.httpPort })
          : requestTls({ ...to, port: listening.httpsPort, servername: host, ca });
      asked.setHeader('host', host);
      asked.setHeader('user-agent', 'asking');
      asked.end();
      const [answer]: IncomingMessage[] = await once(asked, 'response');
      if (!answer) throw new Error('no answer');
      const { statusCode: status = 0, httpVersion: version, headers } = answer;
      const text = `${await buffer(answer)}`;
      return { status, text, version, headers, asked: `${headers['x-asked'] ?? ''}` };
    },
    async reachedAt(addresses: readonly IngressAddress[] | undefined): Promise<void> {
      const key = { namespace: namespaceOf(ingress), name: serverNameOf(ingress) };
      const status = { loadBalancer: { ingress: addresses ?? null } };
      await test.client.patch(SERVICES, key, { status }, { type: 'merge', subresource: 'status' });
    },
    async shownFor(servername: string): Promise<string> {
      const port = listening.httpsPort;
      const socket = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { subject } = socket.getPeerCertificate();
      socket.destroy();
      return `${subject.CN}`;
    },
    async sliceOf(service: string, endpoints: readonly string[], namespace = test.namespace) {
      for (const [at, name] of endpoints.entries()) {
        const slice: EndpointSlice = {
          metadata: { namespace, name: `${service}-${at}`, labels: { [SERVICE_NAME_LABEL]: service } },
          addressType: 'IPv4',
          ports: [{ name: 'http', port: name === '' ? 1 : await portFor(name) }],
          endpoints: [{ addresses: [address], conditions: { ready: name !== '' } }],
        };
        await test.client.apply<EndpointSlice>(ENDPOINT_SLICES, slice, { fieldManager: 'test', force: true });
      }
    },
    async service(name: string, endpoints: readonly string[], namespace = test.namespace) {
      await test.client.create<Service>(SERVICES, {
        metadata: { namespace, name },
        spec: { ports: [{ name: 'http', port: 80 }] },
      });
      await world.sliceOf(name, endpoints, namespace);
    },
    ingress: (
      name: string,
      rules: readonly (readonly [string, string, string, string?])[],
      more: NonNullable<Ingress['spec']> = {},
      namespace = test.namespace,
    ) =>
      test.client.create<Ingress>(INGRESSES, {
        metadata: { namespace, name },
        spec: {
          ingressClassName: 'matryoshka',
          ...(rules.length > 0
            ? {
                rules: rules.map(([host, path, service, pathType = 'Prefix']) => ({
                  ...(host === '' ? {} : { host }),
                  http: {
                    paths: [
                      { path, pathType, backend: { service: { name: service, port: { name: 'http' } } } },
                    ],
                  },
                })),
              }
            : {}),
          ...more,
        },
      }),
  };
  return Object.assign(test, world);
}
