import { connect, createServer, type Socket } from 'node:net';
import type { ConnectionFault } from './faults.ts';

/** TCP relay for a server on loopback, which can freeze, reset or refuse connections, or send garbage. */
export interface Relay {
  readonly port: number;
  /** Number of connections so far. */
  accepted(): number;
  /** Sets the fault of further connections. `nth` counts from 0 since the start. */
  setConnectionFault(choose: (nth: number) => ConnectionFault | undefined): void;
  /** Freezes the connection with this port to the server, or all open ones without a port. */
  freeze(innerPort?: number): void;
  reset(innerPort?: number): void;
  stop(): Promise<void>;
}

export async function startRelay(targetPort: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const pairs = new Set<{ near: Socket; far: Socket }>();
  let choose: (nth: number) => ConnectionFault | undefined = () => undefined;
  let accepted = 0;

  const server = createServer((near) => {
    const fault = choose(accepted);
    accepted += 1;
    near.on('error', () => {});
    sockets.add(near);
    near.once('close', () => sockets.delete(near));
    if (fault === 'close') near.destroy();
    else if (fault === 'garbage') near.end('\x00\x01 220 this is no TLS and no HTTP either\r\n\r\n');
    else join(near);
  });

  function join(near: Socket) {
    const far = connect(targetPort, '127.0.0.1');
    const pair = { near, far };
    pairs.add(pair);
    far.on('error', () => {});
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on('close', () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server without a port');

  const chosen = (innerPort: number | undefined) =>
    [...pairs].filter(({ far }) => innerPort === undefined || far.localPort === innerPort);

  return {
    port: address.port,
    accepted: () => accepted,
    setConnectionFault(next) {
      choose = next;
    },
    freeze(innerPort) {
      // Both sockets are still read, as if a dead host's network took the bytes, and the bytes are dropped.
      for (const { near, far } of chosen(innerPort)) {
        for (const socket of [near, far]) {
          socket.unpipe();
          socket.removeAllListeners('data');
          socket.resume();
        }
      }
    },
    reset(innerPort) {
      for (const { near } of chosen(innerPort)) near.resetAndDestroy();
    },
    async stop() {
      for (const near of sockets) near.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
