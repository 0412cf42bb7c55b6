import { once } from 'node:events';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';

const ANSWER_MS = 10_000;
/** Timeout of a reload: 10,000 backends take some seconds. */
export const RELOAD_MS = 60_000;

/**
 * Sends one command to a socket of HAProxy, and returns the trimmed answer. `payload` follows `<<`. Rejects if the socket is
 * closed, or no answer comes in time. The error never contains the payload, which may be a key. Source: haproxy 3.0
 * management manual, 9.3.
 */
export async function ask(
  socketPath: string,
  command: string,
  payload?: string,
  withinMs = ANSWER_MS,
): Promise<string> {
  const socket = connect(socketPath);
  const timer = setTimeout(
    () => socket.destroy(new Error(`haproxy did not answer "${command}" within ${withinMs / 1000} s`)),
    withinMs,
  );
  try {
    await once(socket, 'connect');
    // An empty line ends a payload.
    socket.end(payload === undefined ? `${command}\n` : `${command} <<\n${payload.replace(/\n*$/, '\n')}\n`);
    return `${await buffer(socket)}`.trim();
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
