import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, createServer as createNetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import type { Backend } from '../../routing/backends.ts';
import type { HostRules } from '../../routing/compile.ts';
import { createDataPlane, type DataPlane } from '../data-plane.ts';
import { trustIn } from '../forwarded.ts';
import { DEFAULT_LIMITS, type Limits } from '../limits.ts';
import type { Served } from '../traffic.ts';

export const portOf = (server: Pick<Server, 'address'>): number => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

/** An endpoint on the loopback, closed with its file's tests. */
export async function endpoint(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return `127.0.0.1:${portOf(server)}`;
}

/** One that answers connections by hand. */
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

/** The host of keepsOthersServed. */
const STEADY = 'steady';

/** A port at which nobody answers. */
export async function nobody(): Promise<string> {
  const server = createNetServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}

export interface PlaneWorld {
  readonly plane: DataPlane;
  httpPort: number;
  httpsPort: number;
  /** Every request that is over, but for those of keepsOthersServed. */
  served: Served[];
  /** All of a host's requests go to these endpoints. */
  route(host: string, endpoints: readonly string[], more?: Partial<Backend & HostRules>): void;
  unroute(host: string): void;
  /** Sends bytes, and answers all that comes until the connection ends or `until` is in it. */
  raw(text: string | Buffer, until?: string): Promise<{ text: string; hasEnded: boolean }>;
  open(): Promise<Socket>;
}

/** A data plane on the loopback; to be called at the top of a test file. Time limits are looked at every 20 ms. */
export function usePlane(limits: Partial<Limits> = {}, trusted: readonly string[] = []): PlaneWorld {
  const served: Served[] = [];
  let plane: DataPlane | undefined;
  const there = () => {
    if (!plane) throw new Error('the plane is there from beforeAll on');
    return plane;
  };
  const world: PlaneWorld = {
    get plane() {
      return there();
    },
    httpPort: 0,
    httpsPort: 0,
    served,
    route(host, endpoints, { protocol = 'http1', paths, otherwise } = {}) {
      const rules: HostRules = {
        paths: paths ?? [{ path: '/', match: 'prefix', backend: `ns/${host}:80` }],
        ...(otherwise === undefined ? {} : { otherwise }),
      };
      const backend: Backend = { protocol, endpoints };
      const routes = {
        hosts: [[host, JSON.stringify(rules)]] as const,
        backends: [[`ns/${host}:80`, JSON.stringify(backend)]] as const,
      };
      there().apply({ routes });
    },
    unroute: (host) => there().apply({ routes: { hosts: [[host, null]], backends: [] } }),
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
    const own = await createServerCertificate(await createAuthority(), ['own.invalid'], []);
    plane = createDataPlane({
      clock: systemClock,
      limits: { ...DEFAULT_LIMITS, ...limits },
      trust: trustIn(trusted),
      own,
      host: '127.0.0.1',
      httpPort: 0,
      httpsPort: 0,
      onServed: (one) => void (one.host !== STEADY && served.push(one)),
      checkMs: 20,
    });
    Object.assign(world, await plane.listen());
  });
  afterAll(() => plane?.close(AbortSignal.abort()));
  return world;
}

/**
 * Holds each test of a file to leave others alone: meanwhile a connection to another host is answered again and again. To be
 * called below usePlane.
 */
export function keepsOthersServed(world: PlaneWorld): void {
  let socket: Socket | undefined;
  let isOver = false;
  let asking = Promise.resolve();
  const ask = async () => {
    socket?.write(`GET / HTTP/1.1\r\nHost: ${STEADY}\r\n\r\n`);
    expect(`${socket && (await once(socket, 'data'))[0]}`).toMatch(/^HTTP\/1.1 200 /);
  };
  beforeAll(async () => {
    world.route(STEADY, [await endpoint((_asked, answer) => answer.end())]);
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
