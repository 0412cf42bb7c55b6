import { once } from 'node:events';
import { connect } from 'node:tls';

/** HTTP/2 by hand, for what no client library would send. Source: RFC 9113, 4.1; RFC 7541, 6.2.2. */
export const HEADERS = 1;
export const DATA = 0;
export const END_STREAM = 1;
export const END_HEADERS = 4;

export function frame(type: number, flags: number, stream: number, body: Buffer | string): Buffer {
  const bytes = Buffer.from(body);
  const head = Buffer.alloc(9);
  head.writeUIntBE(bytes.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, bytes]);
}

/** Fields in plain letters, none of them longer than 126 bytes. */
export const literals = (fields: Record<string, string>): Buffer =>
  Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value, 'latin1'),
    ]),
  );

export const requestTo = (host: string, method = 'GET'): Buffer =>
  literals({ ':method': method, ':scheme': 'https', ':path': '/', ':authority': host });

/** Sends frames over a connection of their own, and answers the frames that came until one of `until` did or it ended. */
export async function sendFrames(
  port: number,
  frames: readonly Buffer[],
  until: (type: number, flags: number) => boolean,
  settings = Buffer.alloc(0),
): Promise<{ types: number[]; hasEnded: boolean }> {
  const options = { port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false };
  const socket = connect(options);
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, settings), ...frames]),
  );
  const types: number[] = [];
  let held = Buffer.alloc(0);
  let isDone = false;
  for await (const bytes of socket) {
    held = Buffer.concat([held, bytes]);
    while (held.length >= 9 && held.length >= 9 + held.readUIntBE(0, 3)) {
      types.push(held.readUInt8(3));
      isDone ||= until(held.readUInt8(3), held.readUInt8(4));
      held = held.subarray(9 + held.readUIntBE(0, 3));
    }
    if (isDone) break;
  }
  socket.destroy();
  return { types, hasEnded: !isDone };
}
