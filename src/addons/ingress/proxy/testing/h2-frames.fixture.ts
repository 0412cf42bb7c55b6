import { once } from 'node:events';
import { connect } from 'node:tls';

/** HTTP/2 by hand, for what no client library would send. Source: RFC 9113, 4.1; RFC 7541, 6.2.2. */
export const HEADERS = 1;
export const DATA = 0;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const CONTINUATION = 9;
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

export interface Frame {
  type: number;
  flags: number;
  stream: number;
  body: Buffer;
}

/** A connection over which frames are sent and read. */
export async function openFrames(port: number, settings: Buffer = Buffer.alloc(0)) {
  const options = { port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false };
  const socket = connect(options);
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0, settings)]),
  );
  const arriving = (async function* (): AsyncGenerator<Frame, undefined> {
    let held: Buffer = Buffer.alloc(0);
    for await (const bytes of untilReset(socket)) {
      held = Buffer.concat([held, bytes]);
      while (held.length >= 9 && held.length >= 9 + held.readUIntBE(0, 3)) {
        const end = 9 + held.readUIntBE(0, 3);
        const [type, flags, stream] = [held.readUInt8(3), held.readUInt8(4), held.readUInt32BE(5)];
        yield { type, flags, stream, body: held.subarray(9, end) };
        held = held.subarray(end);
      }
    }
  })();
  return {
    send: (...frames: readonly Buffer[]) => void socket.write(Buffer.concat(frames)),
    /** The frames that come, up to one that is looked for, or to the connection's end. */
    async until(isLast: (frame: Frame) => boolean): Promise<{ frames: Frame[]; hasEnded: boolean }> {
      const frames: Frame[] = [];
      for (;;) {
        const { value } = await arriving.next();
        if (value) frames.push(value);
        if (!value || isLast(value)) return { frames, hasEnded: !value };
      }
    },
    close: () => void socket.destroy(),
  };
}

/** Who ends a connection on which the other still sends resets it (RFC 1122, 4.2.2.13): that is an end as well. */
async function* untilReset(socket: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  try {
    yield* socket;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ECONNRESET')) throw error;
  }
}

/** Sends frames over a connection of their own, and answers the frames that came until one of `until` did or it ended. */
export async function sendFrames(
  port: number,
  frames: readonly Buffer[],
  until: (type: number, flags: number) => boolean,
  settings?: Buffer,
): Promise<{ types: number[]; hasEnded: boolean }> {
  const connection = await openFrames(port, settings);
  connection.send(...frames);
  const came = await connection.until(({ type, flags }) => until(type, flags));
  connection.close();
  return { types: came.frames.map(({ type }) => type), hasEnded: came.hasEnded };
}
