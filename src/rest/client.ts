import { z } from 'zod';
import { errorSchema } from './answers.ts';
import type { Route } from './route.ts';

/** Request as it is sent. */
export interface Sent {
  method: Route['method'];
  /** Path with its query, below /api/v1. */
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** Answer from the wire. */
export interface Received {
  status: number;
  headers: Readonly<Record<string, string | string[] | number | undefined>>;
  text: string;
}

/** Sends requests: over HTTPS (`overHttps`), or directly into a server in tests. */
export type Send = (request: Sent) => Promise<Received>;

export type RestAnswer<T> = { status: number; headers: Received['headers'] } & (
  | { ok: true; body: T }
  | { ok: false; error: z.infer<typeof errorSchema> }
);

/** Parts of a request, without those that its route does not have. */
export interface Parts<P, Q, B> {
  params: P;
  query?: Q;
  body?: B;
  /** Replaces the client's own token; null: no token. */
  token?: string | null;
}

export interface RestClient {
  /**
   * Calls a route. Rejects if no answer comes, or one that does not match the route; an error of the server counts as an
   * answer.
   */
  call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    route: Route<P, Q, B, A>,
    parts: Parts<z.input<P>, z.input<Q>, z.input<B>>,
  ): Promise<RestAnswer<z.output<A>>>;
}

const fields = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).optional());

/** Returns the path of a call, with its query. */
function pathOf(route: Pick<Route, 'path'>, params: unknown, query: unknown = {}): string {
  const values = fields.parse(params);
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(String(values[name] ?? '')),
  );
  const given = Object.entries(fields.parse(query)).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return search === '' ? path : `${path}?${search}`;
}

/** Creates a client of the REST API whose calls have the types of its routes. */
export function restClient(send: Send, ownToken: string | undefined): RestClient {
  return {
    async call(route, { params, query, body, token = ownToken }) {
      const headers: Record<string, string> = { accept: 'application/json' };
      if (token) headers['authorization'] = `Bearer ${token}`;
      if (body !== undefined) headers['content-type'] = 'application/json';
      const {
        status,
        headers: received,
        text,
      } = await send({
        method: route.method,
        path: pathOf(route, params, query),
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const answer = { status, headers: received };
      const json: unknown = JSON.parse(text);
      return status === (route.status ?? 200)
        ? { ...answer, ok: true, body: route.answer.parse(json) }
        : { ...answer, ok: false, error: errorSchema.parse(json) };
    },
  };
}
