import cluster from 'node:cluster';
import { createServer as createH2Server } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { Certificates } from './certificates.ts';
import { plainAddress } from './forwarded.ts';
import { serveStream } from './h2-client.ts';
import { H2Session } from './h2-session.ts';
import { Http1Client } from './http1-client.ts';
import { SOCKET_BYTES } from './limits.ts';
import type { Traffic } from './traffic.ts';

const HANDSHAKE_MS = 10_000;
/**
 * One of several processes has a queue of its own in the kernel. What the first process would accept for the others would
 * be nobody's when they close.
 */
const OF_WORKER = cluster.isWorker ? { reusePort: true, exclusive: true } : {};

export interface ListenersOptions {
  /** Default: all addresses. */
  host?: string | undefined;
  /** 0: any that is free. */
  httpPort: number;
  httpsPort: number;
}

/** The two doors for clients: HTTP/1.1, and over TLS HTTP/1.1 or HTTP/2. */
export interface Listeners {
  listen(): Promise<{ httpPort: number; httpsPort: number }>;
  /** From now on each answer is the last one of its connection; new connections are let in. */
  shed(): void;
  /** Lets nobody in, ends what is idle, and waits for the rest until the signal; what is left then is cut off. */
  close(signal: AbortSignal): Promise<void>;
  readonly connections: number;
}

export function createListeners(
  traffic: Traffic,
  certificates: Certificates,
  options: ListenersOptions,
): Listeners {
  const clients = new Set<Http1Client>();
  const sessions = new Set<H2Session>();
  let arriving: TLSSocket | undefined;
  let isShedding = false;
  let waiting = () => {};
  const gone = () => {
    if (clients.size + sessions.size === 0) waiting();
  };

  const serve = (socket: Socket, isSecure: boolean) => {
    const client = new Http1Client(socket, isSecure, traffic);
    clients.add(client);
    if (isShedding) client.shed();
    socket.once('close', () => {
      clients.delete(client);
      gone();
    });
  };
  const h2 = createH2Server({
    settings: {
      maxConcurrentStreams: traffic.limits.streams,
      maxHeaderListSize: traffic.limits.headBytes,
      enablePush: false,
    },
    maxHeaderListPairs: traffic.limits.headerCount,
    maxSessionMemory: 10,
  });
  h2.on('session', (session) => {
    if (!arriving) return session.destroy();
    const held = new H2Session(session, arriving, traffic);
    sessions.add(held);
    if (isShedding) held.shed();
    session.once('close', () => {
      sessions.delete(held);
      gone();
    });
  });
  h2.on('sessionError', () => {});
  const plain = createServer({ noDelay: true, highWaterMark: SOCKET_BYTES }, (socket) =>
    serve(socket, false),
  );
  const secure = createTlsServer(
    {
      ALPNProtocols: ['h2', 'http/1.1'],
      noDelay: true,
      highWaterMark: SOCKET_BYTES,
      handshakeTimeout: HANDSHAKE_MS,
      minVersion: 'TLSv1.2',
      // Of clients that name no host.
      ...certificates.own,
      SNICallback: (servername, callback) => callback(null, certificates.contextFor(servername)),
    },
    (socket: TLSSocket) => {
      socket.on('error', () => {});
      if (socket.alpnProtocol !== 'h2') return serve(socket, true);
      // Of a session nobody tells the socket itself.
      arriving = socket;
      h2.emit('connection', socket);
      arriving = undefined;
    },
  );
  h2.on('stream', (stream, headers, flags) => {
    const socket = stream.session?.socket;
    if (socket) serveStream(stream, headers, flags, plainAddress(`${socket.remoteAddress}`), traffic);
  });
  secure.on('tlsClientError', () => {});
  share(traffic.limits.connections, plain, secure);

  const open = (server: Server, port: number) =>
    new Promise<number>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host: options.host, backlog: 4_096, ...OF_WORKER }, () => {
        server.off('error', reject);
        const address = server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });

  return {
    async listen() {
      return {
        httpPort: await open(plain, options.httpPort),
        httpsPort: await open(secure, options.httpsPort),
      };
    },
    shed() {
      isShedding = true;
      for (const client of clients) client.shed();
      for (const session of sessions) session.shed();
    },
    async close(signal) {
      isShedding = true;
      plain.close();
      secure.close();
      for (const client of [...clients]) client.drain();
      for (const session of [...sessions]) session.close();
      if (clients.size + sessions.size > 0 && !signal.aborted)
        await new Promise<void>((resolve) => {
          waiting = resolve;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      for (const client of [...clients]) client.destroy();
      for (const session of [...sessions]) session.destroy();
    },
    get connections() {
      return clients.size + sessions.size;
    },
  };
}

/** What one of two servers has accepted, the other may not; those beyond are closed at once. */
function share(most: number, one: Server, other: Server): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.maxConnections = most;
    from.on('connection', (socket) => {
      to.maxConnections -= 1;
      socket.once('close', () => {
        to.maxConnections += 1;
      });
    });
  }
}
