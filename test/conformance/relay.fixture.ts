import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Passes connections on to a port, until it is cut. */
export async function startRelay(to: number) {
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connect({ host: '127.0.0.1', port: to });
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  };
  const port = await listen(0);
  return {
    port,
    /** Breaks all connections, and accepts no more: as a server that restarts. */
    async cut() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    mend: () => listen(port),
  };
}
