import { subscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';

let subscribed = false;

/**
 * Adds an error listener to every HTTP/2 stream of this process. undici 8.12 removes its listener from a stream that was
 * given up and is still closing. If its pool is destroyed at that moment, for example by a program that stops its watches
 * and then its client, the error has no listener and ends the process. The stream is not accessible otherwise. Other
 * listeners still get the error.
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
