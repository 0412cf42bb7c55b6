import { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';

/** Time that a client has to read a refusal while it still sends its body. */
const LINGER_MS = 2_000;
/**
 * Most connections that wait at once, of all clients; the server closes others immediately. Each may hold some 200 KiB in
 * the kernel.
 */
const MAX_LINGERING = 100;

/**
 * Returns a function that closes a connection after the answer, but lets a client that still sends its body read the
 * answer first. A socket that is closed with unread bytes resets the connection, and the client may lose the answer (RFC
 * 9112, section 9.6). With `isDrained` the server reads the rest of the body and drops it. Otherwise the rest waits in the
 * kernel's buffers, so that a flood of long bodies costs no processor time.
 */
export function lingeringClose(): (reply: FastifyReply, options: { isDrained: boolean }) => void {
  let lingering = 0;
  return (reply, { isDrained }) => {
    const { raw: request } = reply.request;
    const { socket } = request;
    reply.header('connection', 'close');
    // An injected request (Fastify's `inject`) has no connection.
    if (lingering >= MAX_LINGERING || !(socket instanceof Socket)) return;
    lingering += 1;
    socket.once('close', () => {
      lingering -= 1;
    });
    // Node drops a body that no reader has begun to read.
    if (!isDrained) request.read(0);
    const close = socket.destroySoon.bind(socket);
    // Node calls this when the answer is complete.
    socket.destroySoon = () => {
      socket.end();
      const timer = setTimeout(close, LINGER_MS);
      socket.once('close', () => clearTimeout(timer));
      request.once('end', close);
    };
  };
}
