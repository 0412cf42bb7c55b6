import { subscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';

let subscribed = false;

/**
 * Lets every HTTP/2 stream of this process have somebody who hears its error. undici 8.12 takes its own listener off
 * a stream that was given up and is still closing; if its pool is destroyed at that moment, as a program
 * does that stops its watches and then its client, the error has no listener left and ends the process. The stream
 * itself is out of our reach otherwise. Whoever listens for himself hears as before.
 */
export function hearStreams(): void {
  if (subscribed) return;
  subscribed = true;
  subscribe('http2.client.stream.created', (message) => {
    if (typeof message !== 'object' || message === null || !('stream' in message)) return;
    const { stream } = message;
    if (stream instanceof EventEmitter) stream.on('error', () => {});
  });
}
