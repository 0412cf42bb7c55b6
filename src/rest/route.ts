import type { z } from 'zod';

/** One route of the REST API as clients see it: server, client and OpenAPI document are made of it. */
export interface Route<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  A extends z.ZodType = z.ZodType,
> {
  /** Unique; the name of the method in generated clients. */
  operationId: string;
  method: 'GET' | 'POST' | 'DELETE';
  /** Below /api/v1, with parameters in braces. */
  path: string;
  summary: string;
  description: string;
  params: P;
  query: Q;
  /** `NO_BODY` where none is taken. */
  body: B;
  /** Of a success; default: 200. */
  status?: 202;
  /** Of a success, as JSON. */
  answer: A;
  /** Another type in which a success is answered as well, as text. */
  text?: 'text/plain' | 'application/yaml';
  /** Whether the body is read as the original did: unknown fields are ignored, `""` and null are absent. */
  lenient: boolean;
  /** Statuses of errors that this route answers, besides those that all answer. */
  errors: readonly (404 | 409 | 410 | 412 | 413)[];
  /** The body is checked against its schema by the test of the OpenAPI document. */
  example: { params: z.input<P>; body?: unknown; answer: z.input<A> };
}

/** The route, with its types. */
export const route = <P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  it: Route<P, Q, B, A>,
): Route<P, Q, B, A> => it;
