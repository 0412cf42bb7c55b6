import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { z } from 'zod';

/**
 * Sends requests at a fixed rate over persistent connections, in a separate process: `node steady-client.ts JSON`. Prints a
 * JSON array of the milliseconds of each request, from when it was due, even if no connection was free then.
 */
const { port, host, path, perSecond, seconds, connections } = z
  .object({
    ...{ port: z.number(), host: z.string(), path: z.string() },
    ...{ perSecond: z.number(), seconds: z.number(), connections: z.number() },
  })
  .parse(JSON.parse(process.argv[2] ?? ''));
/** Requests come in small bursts: a client that polls the clock would take its core from the server. */
const TICK_MS = 1;
/** Time in which the client's code is compiled and its connections open; it is not counted. */
const WARM_UP_MS = 1_000;
/** Time limit for the last responses, as a multiple of the sending time. */
const PATIENCE = 6;
/**
 * All responses have the same length, which the first one on a connection shows. Parsing each would cost the client its
 * core.
 */
const LENGTH = /\r\ncontent-length: (\d+)\r\n/i;
const sizeOf = (answer: Buffer): number => {
  const head = answer.toString('latin1').split('\r\n\r\n')[0] ?? '';
  return head.length + 4 + Number(LENGTH.exec(`${head}\r\n`)?.[1]);
};

const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const times: number[] = [];
let [began, answered] = [Number.POSITIVE_INFINITY, 0];
/** Due times of requests that wait for a connection, so their delay counts. */
const due: number[] = [];
const sentAt = new Map<Socket, number>();
const send = (socket: Socket, at: number) => {
  sentAt.set(socket, at);
  socket.write(request);
};
const idle: Socket[] = [];
const sockets = await Promise.all(
  Array.from({ length: connections }, async () => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    await once(socket, 'connect');
    let [size, got] = [0, 0];
    socket.on('data', (bytes: Buffer) => {
      size ||= sizeOf(bytes);
      got += bytes.length;
      if (!(got >= size)) return;
      got = 0;
      const sent = sentAt.get(socket) ?? 0;
      answered += 1;
      if (sent >= began + WARM_UP_MS) times.push(performance.now() - sent);
      const next = due.shift();
      if (next === undefined) idle.push(socket);
      else send(socket, next);
    });
    return socket;
  }),
);
idle.push(...sockets);

began = performance.now();
let count = 0;
await new Promise<void>((resolve) => {
  const tick = setInterval(() => {
    const now = performance.now();
    const elapsed = now - began;
    for (; count < (Math.min(elapsed, seconds * 1_000) * perSecond) / 1_000; count += 1) {
      const socket = idle.pop();
      if (socket) send(socket, now);
      else due.push(now);
    }
    if (elapsed <= seconds * 1_000 || (answered < count && elapsed <= seconds * 1_000 * PATIENCE)) return;
    clearInterval(tick);
    resolve();
  }, TICK_MS);
});
for (const socket of sockets) socket.destroy();
if (answered < count) throw new Error(`${count - answered} requests were not answered`);
process.stdout.write(JSON.stringify(times));
