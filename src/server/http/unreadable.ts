import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { envelope } from './errors.ts';

const MEANINGS: Readonly<Record<string, [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers and the path are longer than 16 KiB'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not come in time'],
};

/** Answers a request that is not valid HTTP with the same envelope as every other error. */
export function answerUnreadable(error: Error & { code: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy();
  const [status, message] = MEANINGS[error.code] ?? [400, 'the request is not valid HTTP'];
  const body = JSON.stringify(envelope(status, message));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
