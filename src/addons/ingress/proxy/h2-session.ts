import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Timed } from './deadlines.ts';
import type { Traffic } from './traffic.ts';

/** One HTTP/2 connection of a client, which ends in time whether its client follows or not. */
export class H2Session implements Timed {
  dueMs = Number.POSITIVE_INFINITY;
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #traffic: Traffic;
  #streams = 0;

  constructor(session: ServerHttp2Session, socket: Socket, traffic: Traffic) {
    this.#session = session;
    this.#socket = socket;
    this.#traffic = traffic;
    session.on('stream', (stream) => {
      this.#streams += 1;
      stream.once('close', () => {
        this.#streams -= 1;
      });
    });
    session.setTimeout(traffic.limits.keepAliveMs, () => this.close());
    session.once('close', () => traffic.deadlines.remove(this));
    traffic.deadlines.add(this);
  }

  /**
   * Ends it with the requests that are under way; without any, with the next one. An idle client may read of an end no
   * earlier than it asks again, and some (curl 7.88) then hold for lost what they ask. Clients that ask several things at
   * once have those refused that come late, and repeat them (RFC 9113, 6.8): a first GOAWAY that refuses nothing cannot be
   * had, as nghttp2 takes no new stream after any that Node lets it send.
   */
  shed(): void {
    if (this.#streams > 0) this.close();
    else this.#session.once('stream', () => this.close());
  }
  /** Ends it once the requests that are under way have ended. */
  close(): void {
    this.#session.close();
    if (this.dueMs === Number.POSITIVE_INFINITY) this.#wait();
  }
  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }

  #wait(): void {
    this.dueMs = this.#traffic.deadlines.nowMs + this.#traffic.limits.idleMs;
  }
  /** Each stream has its own time. The socket, because a session's own end waits until the client has read of it. */
  expire(): void {
    if (this.#streams > 0) this.#wait();
    else this.#socket.destroy();
  }
}
