import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, createServer as createNetServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { haproxyProgram } from '#lab/haproxy/program.ts';
import type { Backend } from '../../routing/backends.ts';
import type { HostRules } from '../../routing/compile.ts';
import { createHaproxy, type Haproxy } from '../haproxy.ts';
import { DEFAULT_SETTINGS, type ProxySettings } from '../settings.ts';
import type { Pair } from '../state.ts';

export const portOf = (server: Pick<Server, 'address'>): number => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

/** Starts an endpoint on the loopback, which is closed after the file's tests. */
export async function endpoint(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return `127.0.0.1:${portOf(server)}`;
}

/** Starts an endpoint that handles connections as raw sockets. */
export async function rawEndpoint(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${portOf(server)}`;
}

/** Host that keepsOthersServed checks. */
const STEADY = 'steady';

/** Returns an address at which no server listens. */
export async function closedPort(): Promise<string> {
  const server = createNetServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}

export interface ProxyWorld {
  readonly proxy: Haproxy;
  httpPort: number;
  httpsPort: number;
  /** Routes all requests of a host to these endpoints. Resolves when the route is in effect. */
  route(host: string, endpoints: readonly string[], more?: Partial<Backend & HostRules>): Promise<void>;
  /** Removes the rules of a host, and with `withBackend` its backend too. */
  unroute(host: string, withBackend?: boolean): Promise<void>;
  /** Shows a pair for a host. null: the proxy's own certificate; undefined: no setting. */
  certify(host: string, pair: Pair | null | undefined): Promise<void>;
  /** Sends bytes; returns all bytes received until the connection ends or `until` appears. */
  raw(text: string | Buffer, until?: string): Promise<{ text: string; hasEnded: boolean }>;
  open(): Promise<Socket>;
}

/** Runs HAProxy on the loopback; call it at the top of a test file. */
export function useProxy(settings: Partial<ProxySettings> = {}): ProxyWorld {
  const hosts = new Map<string, HostRules>();
  const backends = new Map<string, Backend>();
  const shown = new Map<string, string | null>();
  const pairs = new Map<string, Pair>();
  let proxy: Haproxy | undefined;
  let folder = '';
  const there = () => {
    if (!proxy) throw new Error('the proxy is there from beforeAll on');
    return proxy;
  };
  const served = () => ({
    routes: { hosts: new Map(hosts), backends: new Map(backends) },
    certificates: { hosts: new Map(shown), pairs: new Map(pairs) },
  });
  const apply = () => there().apply(served());
  const world: ProxyWorld = {
    get proxy() {
      return there();
    },
    httpPort: 0,
    httpsPort: 0,
    route(host, endpoints, { protocol = 'http1', paths, otherwise, rules } = {}) {
      hosts.set(host, {
        paths: paths ?? [{ path: '/', match: 'prefix', backend: `ns/${host}:80` }],
        ...(otherwise === undefined ? {} : { otherwise }),
      });
      backends.set(`ns/${host}:80`, { protocol, endpoints, ...(rules ? { rules } : {}) });
      return apply();
    },
    unroute(host, withBackend = false) {
      hosts.delete(host);
      if (withBackend) backends.delete(`ns/${host}:80`);
      return apply();
    },
    certify(host, pair) {
      const name = `ns/tls-${host.replace('*', 'any')}`;
      if (pair === undefined) shown.delete(host);
      else shown.set(host, pair === null ? null : name);
      if (pair) pairs.set(name, pair);
      else pairs.delete(name);
      return apply();
    },
    async open() {
      const socket = connect(world.httpPort, '127.0.0.1');
      await once(socket, 'connect');
      return socket.on('error', () => {});
    },
    async raw(text, until) {
      const socket = await world.open();
      const ended = Promise.withResolvers<{ text: string; hasEnded: boolean }>();
      let got = '';
      socket.on('data', (bytes) => {
        got += bytes.toString('latin1');
        if (until === undefined || !got.includes(until)) return;
        ended.resolve({ text: got, hasEnded: false });
        socket.destroy();
      });
      socket.on('close', () => ended.resolve({ text: got, hasEnded: true }));
      socket.write(text);
      return ended.promise;
    },
  };
  beforeAll(async () => {
    const [binary, own, ports] = await Promise.all([
      haproxyProgram(),
      createAuthority().then((authority) => createServerCertificate(authority, ['own.invalid'], [])),
      freePorts(2),
    ]);
    folder = await mkdtemp(join(tmpdir(), 'haproxy-'));
    [world.httpPort = 0, world.httpsPort = 0] = ports;
    const { httpPort, httpsPort } = world;
    proxy = createHaproxy({
      ...{ binary, folder, own, clock: systemClock, log: createLogger('error') },
      settings: {
        ...DEFAULT_SETTINGS,
        ...{ host: '127.0.0.1', httpPort, httpsPort, threads: 1, connections: 1_000 },
        ...settings,
      },
    });
    await proxy.apply(served());
  });
  afterAll(async () => {
    await proxy?.close(AbortSignal.abort());
    await rm(folder, { recursive: true, force: true });
  });
  return world;
}

/**
 * Checks that the tests of a file leave other hosts alone: a connection to another host gets answers all the time. Call it
 * below useProxy.
 */
export function keepsOthersServed(world: ProxyWorld): void {
  let socket: Socket | undefined;
  let isOver = false;
  let asking = Promise.resolve();
  const ask = async () => {
    socket?.write(`GET / HTTP/1.1\r\nHost: ${STEADY}\r\n\r\n`);
    expect(`${socket && (await once(socket, 'data'))[0]}`).toMatch(/^HTTP\/1.1 200 /);
  };
  beforeAll(async () => {
    await world.route(STEADY, [await endpoint((_asked, answer) => answer.end())]);
  });
  beforeEach(async () => {
    socket = await world.open();
    isOver = false;
    await ask();
    asking = (async () => {
      for (; !isOver; await sleep(50)) await ask();
    })();
  });
  afterEach(async () => {
    isOver = true;
    await asking;
    await ask();
    socket?.destroy();
  });
}
