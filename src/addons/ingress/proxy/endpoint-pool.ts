import { connect, type Socket } from 'node:net';
import type { Deadlines } from './deadlines.ts';
import { EndpointConnection } from './endpoint-connection.ts';
import { type Limits, SOCKET_BYTES } from './limits.ts';

/** What becomes of a wish for a connection; `failed` says that nothing was sent. */
export interface Wish {
  connected(connection: EndpointConnection): void;
  connectFailed(error: Error): void;
}

/** Connections to endpoints, `address:port`, kept for some seconds after an answer. */
export interface EndpointPool {
  /** An idle one at once, the one that was used last; otherwise a new one. Answers how to wish for it no more. */
  acquire(endpoint: string, wish: Wish): () => void;
  /** Lets go of idle connections to endpoints that are none any more. */
  keepOnly(endpoints: ReadonlySet<string>): void;
  close(): void;
}

/** Of one endpoint; those beyond end with their answer. */
const MAX_IDLE = 256;

/** For net.connect, which hands it to the stream. */
const SOCKET = { noDelay: true, highWaterMark: SOCKET_BYTES };

/** Address and port of an endpoint. */
export function addressOf(endpoint: string): { host: string; port: number } {
  const colon = endpoint.lastIndexOf(':');
  const host = endpoint.slice(0, colon);
  return {
    host: host.startsWith('[') ? host.slice(1, -1) : host,
    port: Number(endpoint.slice(colon + 1)),
  };
}

export function createEndpointPool(deps: { deadlines: Deadlines; limits: Limits }): EndpointPool {
  const { deadlines, limits } = deps;
  const idle = new Map<string, EndpointConnection[]>();
  let isClosed = false;

  const forget = (connection: EndpointConnection) => {
    const list = idle.get(connection.endpoint);
    const at = list?.indexOf(connection) ?? -1;
    if (at !== -1) list?.splice(at, 1);
    if (list?.length === 0) idle.delete(connection.endpoint);
  };
  const onIdle = (connection: EndpointConnection) => {
    const list = idle.get(connection.endpoint) ?? [];
    if (isClosed || list.length >= MAX_IDLE) return connection.abort();
    list.push(connection);
    idle.set(connection.endpoint, list);
  };

  function open(endpoint: string, wish: Wish): () => void {
    const socket: Socket = connect({ ...addressOf(endpoint), ...SOCKET });
    const settle = () => {
      clearTimeout(timer);
      socket.off('connect', onConnect).off('error', onError);
    };
    const onError = (error: Error) => {
      settle();
      socket.on('error', () => {}).destroy();
      wish.connectFailed(error);
    };
    const onConnect = () => {
      settle();
      wish.connected(
        new EndpointConnection(endpoint, socket, { deadlines, limits, onIdle, onClosed: forget }),
      );
    };
    const timer = setTimeout(
      () => onError(new Error(`no connection within ${limits.connectMs} ms`)),
      limits.connectMs,
    );
    socket.once('connect', onConnect).once('error', onError);
    return () => {
      settle();
      socket.on('error', () => {}).destroy();
    };
  }

  return {
    acquire(endpoint, wish) {
      for (let one = idle.get(endpoint)?.pop(); one; one = idle.get(endpoint)?.pop()) {
        if (!one.isUsable) continue;
        wish.connected(one);
        return () => {};
      }
      return open(endpoint, wish);
    },
    keepOnly(endpoints) {
      for (const [endpoint, list] of [...idle])
        if (!endpoints.has(endpoint)) for (const one of [...list]) one.abort();
    },
    close() {
      isClosed = true;
      for (const list of [...idle.values()]) for (const one of [...list]) one.abort();
    },
  };
}
