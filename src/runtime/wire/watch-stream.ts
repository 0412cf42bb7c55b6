import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { KubeObject } from '#api/meta.ts';
import { ApiError } from './api-error.ts';
import { errorFromStatus } from './status-error.ts';

export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** Object of the event; that of a bookmark has only kind, apiVersion, metadata.resourceVersion and annotations. */
  object: T;
}

/** Longest line. No event is near this size (etcd takes 1.5 MiB), so a longer line is no event stream. */
const MAX_LINE = 32 * 1024 * 1024;
/**
 * Number of bytes after which the event loop gets a turn: existing objects may arrive as a stream of megabytes (WatchList).
 */
const BREATH = 256 * 1024;

/**
 * Parses newline-separated watch events from a body and calls `onEvent` for each, in order. Resolves at the end of the body.
 * Rejects upon garbage, upon a broken connection, and with the ApiError of an ERROR event. An error of `onEvent` ends the
 * watch.
 * Source: client-go rest/watch, apimachinery watch.StreamWatcher.
 */
export function streamWatch<T extends KubeObject>(
  body: Readable,
  what: string,
  onEvent: (event: WatchEvent<T>) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const decoder = new StringDecoder('utf8');
    let rest = '';
    let sinceBreath = 0;
    const fail = (error: unknown) => {
      body.off('data', onData);
      // A late 'error' after destroy() still needs a listener.
      body.on('error', () => {});
      body.destroy();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      const text = decoder.write(chunk);
      let start = 0;
      try {
        for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
          const line = start === 0 && rest !== '' ? rest + text.slice(0, end) : text.slice(start, end);
          rest = '';
          start = end + 1;
          if (line !== '') onEvent(parseEvent<T>(line, what));
        }
        rest += text.slice(start);
        if (rest.length > MAX_LINE) throw garbage(what, rest);
        sinceBreath += chunk.length;
        if (sinceBreath < BREATH) return;
        sinceBreath = 0;
        body.pause();
        setImmediate(() => body.resume());
      } catch (error) {
        fail(error);
      }
    };
    body.on('data', onData);
    body.once('end', () => {
      if (rest.trim() === '') resolve();
      // A cut stream ends with the beginning of an event; a web page does not.
      else if (!rest.startsWith('{')) fail(garbage(what, rest));
      else fail(new ApiError('Connection', `${what}: the watch ended within an event`, { status: 0 }));
    });
    body.once('error', (error) =>
      fail(new ApiError('Connection', `${what}: ${error.message}`, { status: 0, cause: error })),
    );
    body.once('close', () => fail(new ApiError('Connection', `${what}: the watch was cut`, { status: 0 })));
  });
}

function parseEvent<T extends KubeObject>(line: string, what: string): WatchEvent<T> {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    throw garbage(what, line);
  }
  if (isEvent<T>(event)) return event;
  if (typeof event === 'object' && event !== null && 'type' in event && event.type === 'ERROR') {
    throw errorFromStatus('object' in event ? event.object : undefined);
  }
  throw garbage(what, line);
}

function isEvent<T>(value: unknown): value is WatchEvent<T> {
  if (typeof value !== 'object' || value === null || !('type' in value) || !('object' in value)) return false;
  const { type, object } = value;
  const known = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK';
  return (
    known && typeof object === 'object' && object !== null && 'metadata' in object && object.metadata !== null
  );
}

function garbage(what: string, line: string): ApiError {
  const snippet = line.replace(/\s+/g, ' ').slice(0, 80);
  return new ApiError('Unknown', `${what}: no watch event: ${snippet}`, { status: 200 });
}
