import type { Backend } from '../routing/backends.ts';
import type { RouteTable } from '../routing/table.ts';
import type { Deadlines } from './deadlines.ts';
import type { EndpointPool } from './endpoint-pool.ts';
import type { Peer, Trust } from './forwarded.ts';
import type { H2Pool } from './h2-endpoint.ts';
import type { Limits } from './limits.ts';
import type { Answer } from './parties.ts';
import type { Stamp } from './stamp.ts';

/** One request, once it is over. */
export interface Served {
  method: string;
  host: string;
  /** Without its query, which may hold secrets. */
  path: string;
  version: string;
  client: string;
  isSecure: boolean;
  /** 0: the client had gone before it had one. */
  status: number;
  backend: string;
  endpoint: string;
  ms: number;
  bytesIn: number;
  bytesOut: number;
}

/** A request of which nothing can be told but who sent it, and what he was told. */
export const unreadable = ({ remoteAddress: client, isSecure }: Peer, status: number): Served => ({
  ...{ method: '', host: '', path: '', version: '', client, isSecure, status },
  ...{ backend: '', endpoint: '', ms: 0, bytesIn: 0, bytesOut: 0 },
});

/** An answer of our own. */
export const textAnswer = (status: number, length: Answer['length']): Answer => ({
  status,
  fields: ['content-type', 'text/plain; charset=utf-8'],
  length,
});

/** What all connections of a process share. */
export interface Traffic {
  limits: Limits;
  deadlines: Deadlines;
  endpoints: EndpointPool;
  h2: H2Pool;
  trust: Trust;
  turns: Turns;
  stamp: Stamp;
  /** The table of this moment; each request asks once. Undefined: nothing is known yet. */
  table(): RouteTable | undefined;
  served(one: Served): void;
  nowMs(): number;
}

/** How long an endpoint that could not be reached comes last. */
const AILING_MS = 5_000;

/** Whose turn it is among the endpoints of a backend. */
export interface Turns {
  /** The next one that was not tried; undefined when all were. */
  next(name: string, backend: Backend, tried: readonly string[]): string | undefined;
  ailing(endpoint: string): void;
  /** Forgets backends that are none any more. */
  keepOnly(has: (name: string) => boolean): void;
}

export function createTurns(nowMs: () => number, random: () => number = Math.random): Turns {
  const turns = new Map<string, number>();
  const ailingUntil = new Map<string, number>();
  const isAiling = (endpoint: string): boolean => {
    const until = ailingUntil.get(endpoint);
    if (until === undefined) return false;
    if (until > nowMs()) return true;
    ailingUntil.delete(endpoint);
    return false;
  };
  return {
    next(name, { endpoints }, tried) {
      const count = endpoints.length;
      if (count === 0 || tried.length >= count) return undefined;
      const turn = turns.get(name) ?? Math.floor(random() * count);
      turns.set(name, (turn + 1) % Number.MAX_SAFE_INTEGER);
      let last: string | undefined;
      for (let at = 0; at < count; at += 1) {
        const endpoint = endpoints[(turn + at) % count];
        if (endpoint === undefined || tried.includes(endpoint)) continue;
        if (ailingUntil.size === 0 || !isAiling(endpoint)) return endpoint;
        last ??= endpoint;
      }
      return last;
    },
    ailing: (endpoint) => void ailingUntil.set(endpoint, nowMs() + AILING_MS),
    keepOnly(has) {
      for (const name of [...turns.keys()]) if (!has(name)) turns.delete(name);
      for (const endpoint of [...ailingUntil.keys()]) isAiling(endpoint);
    },
  };
}
