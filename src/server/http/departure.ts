import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Calls `leave` once: when the response is sent, when the connection closes, or at once if it is closed already. A response
 * emits `close` only once, perhaps before the listener is there.
 */
export function onDeparture(request: IncomingMessage, response: ServerResponse, leave: () => void): void {
  let hasLeft = false;
  const once = (): void => {
    if (hasLeft) return;
    hasLeft = true;
    leave();
  };
  response.once('close', once);
  if (response.destroyed || request.socket.destroyed) once();
}
