import { ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Answer, Fault } from './faults.ts';
import type { Relay } from './relay.ts';

/** Carries one request to the server and its response back, or loses either on the way. */
export interface Courier {
  carry(request: Http2ServerRequest, response: Http2ServerResponse, fault: Fault | undefined): Promise<void>;
  /** Ends a response in the middle, without the protocol's end. */
  drop(response: Http2ServerResponse): void;
}

/** Headers of one connection, or set anew at each hop (RFC 9110 7.6.1, RFC 9113 8.2.2). */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'host']);

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export function createCourier(url: string, upstream: Dispatcher, relay: Relay): Courier {
  async function forward(request: Http2ServerRequest, response: Http2ServerResponse, body: Buffer) {
    const abort = new AbortController();
    response.once('close', () => abort.abort());
    const method = METHODS.find((one) => one === request.method);
    if (!method) throw new Error(`${request.method} is not for API servers`);
    return upstream.request({
      origin: url,
      path: request.url,
      method,
      headers: endToEnd(request.headers),
      body: body.length === 0 ? null : body,
      signal: abort.signal,
    });
  }

  function answer(response: Http2ServerResponse, { status, headers = {}, body }: Answer): void {
    response.writeHead(status, { ...headers });
    response.end(body);
  }

  function drop(response: Http2ServerResponse | ServerResponse): void {
    // HTTP/2 ends only the stream. HTTP/1.1 has only the connection.
    if (response instanceof ServerResponse) response.destroy();
    else if (!response.stream.destroyed) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  return {
    drop,
    async carry(request, response, fault) {
      const innerPort = portOf(response);
      response.on('error', () => {});
      if (fault?.kind === 'reset') return relay.reset(innerPort);
      if (fault?.kind === 'freeze') return relay.freeze(innerPort);
      const body = await bytesOf(request);
      if (fault?.kind === 'answer') return answer(response, fault);
      if (fault?.kind === 'delay') await sleep(fault.ms);
      if (fault?.kind === 'wait') await fault.until;
      const answered = await forward(request, response, body);
      if (fault?.kind === 'lose-answer') {
        await answered.body.text();
        return fault.instead ? answer(response, fault.instead) : relay.reset(innerPort);
      }
      response.writeHead(answered.statusCode, endToEnd(answered.headers));
      // HTTP/2 sends headers at once. HTTP/1.1 would wait for the body.
      if (response instanceof ServerResponse) response.flushHeaders();
      if (fault?.kind === 'hold') await fault.until;
      const most = fault?.kind === 'truncate' ? fault.afterBytes : Number.POSITIVE_INFINITY;
      if (await copied(answered.body, response, most)) response.end();
      else if (!response.destroyed) drop(response);
    },
  };
}

/** Copies a body up to `most` bytes. Returns whether it is complete. */
async function copied(
  body: AsyncIterable<unknown>,
  response: Http2ServerResponse,
  most: number,
): Promise<boolean> {
  let left = most;
  for await (const part of body) {
    if (!Buffer.isBuffer(part)) throw new Error('a body of bytes was expected');
    if (response.destroyed) return false;
    if (part.length > left) {
      await new Promise<void>((resolve) => response.write(part.subarray(0, left), () => resolve()));
      return false;
    }
    left -= part.length;
    response.write(part);
  }
  return true;
}

/** Returns the port from which the relay connects, its name for the connection. */
function portOf(response: Http2ServerResponse): number {
  const port = (response.stream?.session?.socket ?? response.socket)?.remotePort;
  if (port === undefined) throw new Error('a request without a connection');
  return port;
}

function endToEnd(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':') || HOP_BY_HOP.has(name)) continue;
    kept[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return kept;
}

async function bytesOf(body: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}
