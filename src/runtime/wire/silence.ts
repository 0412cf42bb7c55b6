import type { Socket } from 'node:net';

/**
 * Destroys a socket from which no byte arrived for about `silenceMs`. It is for HTTP/2, where the answers to our PINGs are
 * bytes: silence means a broken connection, not an idle one. Bytes are counted in ticks, not by time stamps, so a process
 * that was stopped for an hour and resumed does not cut healthy connections. Source: client-go's ReadIdleTimeout 30 s +
 * PingTimeout 15 s (apimachinery util/net/http.go).
 */
export function watchForSilence(socket: Socket, silenceMs: number): void {
  const ticks = 8;
  let silent = 0;
  let seen = socket.bytesRead;
  const timer = setInterval(() => {
    if (socket.destroyed) return clearInterval(timer);
    if (socket.bytesRead !== seen) {
      seen = socket.bytesRead;
      silent = 0;
      return;
    }
    silent += 1;
    if (silent >= ticks) {
      clearInterval(timer);
      socket.destroy(new Error(`nothing received for ${Math.round(silenceMs / 1000)} s, PINGs unanswered`));
    }
  }, silenceMs / ticks).unref();
  socket.once('close', () => clearInterval(timer));
}
