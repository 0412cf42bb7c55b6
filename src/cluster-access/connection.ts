import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { Access } from './access.ts';

/** A keep-alive connection to one API server, at its own address, for the duration of a probe. */
export interface Connection {
  readonly ip: string;
  /** Sends a GET. Rejects with the signal's reason, with the TLS or TCP error, or if the answer has more than `maxBytes`. */
  get(path: string, options: GetOptions): Promise<Answer>;
  /** Sends a request with another method; rejects like `get`. */
  send(path: string, sent: Sent, options: GetOptions): Promise<Answer>;
  /** Returns the first match in the lines of a long answer; keeps at most one line in memory. */
  find(path: string, line: RegExp, signal: AbortSignal): Promise<RegExpExecArray | undefined>;
  /** When the server's certificate expires; known once the server has answered. */
  readonly certificateEnds: Date | undefined;
  close(): void;
}

export interface GetOptions {
  signal: AbortSignal;
  maxBytes: number;
  accept?: string;
}

interface Sent {
  method: 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  body?: unknown;
}

export interface Answer {
  status: number;
  body: string;
  /** The `Date` header, by the server's own clock. */
  date: Date | undefined;
}

const MAX_LINE = 64 * 1024;
const MAX_SCANNED = 64 * 1024 * 1024;

/**
 * Connects to an API server. The kubeconfig's authority must have signed the certificate for this very address. Redirects
 * are not followed, and neither DNS nor a proxy is used.
 */
export function connectTo(ip: string, port: number, { ca, cert, key, token }: Access): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca, cert, key, rejectUnauthorized: true });
  let certificateEnds: Date | undefined;

  const open = (
    path: string,
    accept: string,
    signal: AbortSignal,
    { method, body }: Partial<Sent> = {},
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = {
        accept,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        'user-agent': 'matryoshka-health',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      };
      const asked = request({ agent, host: ip, port, path, method, headers, signal }, (answer) => {
        if (answer.socket instanceof TLSSocket)
          certificateEnds = answer.socket.getPeerX509Certificate()?.validToDate;
        resolve(answer);
      });
      asked.on('error', reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });

  async function ask(path: string, options: GetOptions, sent?: Sent): Promise<Answer> {
    const { signal, maxBytes, accept = 'application/json' } = options;
    const answer = await open(path, accept, signal, sent);
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of answer) {
      if (!Buffer.isBuffer(chunk)) continue;
      length += chunk.length;
      // Leaving the loop destroys the answer, and with it the connection.
      if (length > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    const date = new Date(answer.headers.date ?? Number.NaN);
    return {
      status: answer.statusCode ?? 0,
      body: Buffer.concat(chunks).toString('utf8'),
      date: Number.isNaN(date.getTime()) ? undefined : date,
    };
  }

  return {
    ip,
    get: (path, options) => ask(path, options),
    send: (path, sent, options) => ask(path, options, sent),
    async find(path, line, signal) {
      const answer = await open(path, '*/*', signal);
      let rest = '';
      let length = 0;
      for await (const chunk of answer) {
        if (!Buffer.isBuffer(chunk)) continue;
        length += chunk.length;
        if (length > MAX_SCANNED) return undefined;
        const lines = `${rest}${chunk.toString('latin1')}`.split('\n');
        rest = (lines.pop() ?? '').slice(0, MAX_LINE);
        for (const one of lines) {
          const match = line.exec(one);
          if (match) return match;
        }
      }
      return undefined;
    },
    get certificateEnds() {
      return certificateEnds;
    },
    close: () => agent.destroy(),
  };
}
