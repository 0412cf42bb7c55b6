import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { z } from 'zod';

/**
 * So many requests a second over connections that are kept, as a process of its own: `node steady-client.ts JSON`. Prints
 * a JSON array of the milliseconds that each took, from when it was sent or would have been, had a connection been free.
 */
const { port, host, path, perSecond, seconds, connections } = z
  .object({
    ...{ port: z.number(), host: z.string(), path: z.string() },
    ...{ perSecond: z.number(), seconds: z.number(), connections: z.number() },
  })
  .parse(JSON.parse(process.argv[2] ?? ''));
/** Requests come in small bursts: a client that looked at the clock all the time would take its core from what it asks. */
const TICK_MS = 1;
/** How many times as long the last answers may take as the asking. */
const PATIENCE = 6;
/** Answers are short and have a length: their last byte comes with the rest of them. */
const END = /\r\ncontent-length: (\d+)\r\n/i;

const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const times: number[] = [];
/** When those were due that wait for a connection: whoever is late is late from then on. */
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
    let got = '';
    socket.on('data', (bytes) => {
      got += bytes.toString('latin1');
      const end = got.indexOf('\r\n\r\n');
      if (end === -1 || got.length < end + 4 + Number(END.exec(got)?.[1])) return;
      got = '';
      times.push(performance.now() - (sentAt.get(socket) ?? 0));
      const next = due.shift();
      if (next === undefined) idle.push(socket);
      else send(socket, next);
    });
    return socket;
  }),
);
idle.push(...sockets);

const began = performance.now();
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
    if (elapsed <= seconds * 1_000 || (times.length < count && elapsed <= seconds * 1_000 * PATIENCE)) return;
    clearInterval(tick);
    resolve();
  }, TICK_MS);
});
for (const socket of sockets) socket.destroy();
if (times.length < count) throw new Error(`${count - times.length} requests were not answered`);
process.stdout.write(JSON.stringify(times));
