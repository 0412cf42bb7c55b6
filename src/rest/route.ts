import type { z } from 'zod';

/** Route of the REST API as clients see it; server, client and OpenAPI document use it. */
export interface Route<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  A extends z.ZodType = z.ZodType,
> {
  /** Unique name, which becomes the method's name in generated clients. */
  operationId: string;
  method: 'GET' | 'POST' | 'DELETE';
  /** Path below /api/v1, with parameters in braces. */
  path: string;
  summary: string;
  description: string;
  params: P;
  query: Q;
  /** `NO_BODY` if the route takes none. */
  body: B;
  /** Status of a success; default: 200. */
  status?: 202;
  /** JSON body of a success. */
  answer: A;
  /** Second type of a success, as text. */
  text?: 'text/plain' | 'application/yaml';
  /** Whether a success is a stream of server-sent events, whose data match `answer` (WHATWG HTML, Server-sent events). */
  isStream?: true;
  /** Whether the body is read as in kubernetes-operator: unknown fields are ignored, `""` and null count as absent. */
  lenient: boolean;
  /** Error statuses of this route, besides those of every route. */
  errors: readonly (404 | 409 | 410 | 412 | 413)[];
  /** Example. The test of the OpenAPI document checks its body against the schema. */
  example: { params: z.input<P>; body?: unknown; answer: z.input<A> };
}

/** Returns the route, with its types. */
export const route = <P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  it: Route<P, Q, B, A>,
): Route<P, Q, B, A> => it;
