import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Answers are short and have a length: their last byte comes with the rest of them. */
const END = /\r\ncontent-length: (\d+)\r\n/i;

/** Milliseconds that each answer took, at that many requests a second over connections that are kept. */
export async function steadyLoad(options: {
  port: number;
  host: string;
  path: string;
  perSecond: number;
  seconds: number;
  connections: number;
}): Promise<number[]> {
  const { port, host, path, perSecond, seconds, connections } = options;
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const times: number[] = [];
  const idle: Socket[] = [];
  /** When those were due that wait for a connection: whoever is late is late from then on. */
  const due: number[] = [];
  const sentAt = new Map<Socket, number>();
  const send = (socket: Socket, at: number) => {
    sentAt.set(socket, at);
    socket.write(request);
  };
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
    const turn = () => {
      const elapsed = performance.now() - began;
      for (; count < (Math.min(elapsed, seconds * 1_000) * perSecond) / 1_000; count += 1) {
        const at = began + (count * 1_000) / perSecond;
        const socket = idle.pop();
        if (socket) send(socket, at);
        else due.push(at);
      }
      if (elapsed > seconds * 1_000 && (times.length >= count || elapsed > seconds * 2_000)) resolve();
      else setImmediate(turn);
    };
    turn();
  });
  for (const socket of sockets) socket.destroy();
  if (times.length < count) throw new Error(`${count - times.length} requests were not answered`);
  return times;
}

export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
