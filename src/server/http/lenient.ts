import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { LISTS } from '#api/host.ts';
import { IMMUTABLE } from '#api/kubernetes-cluster.ts';
import { HttpError, unprocessable } from './errors.ts';
import { isTypoOf } from './typo.ts';

const MAX_DEPTH = 12;

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A body of kubernetes-operator's clients in plain form. */
export interface Read {
  value: unknown;
  /** Paths of fields that the schema does not have; they are left out. */
  unknown: string[];
}

/** Returns the schema inside optional, default and the like. */
function inner(schema: unknown): unknown {
  let found = schema;
  while (found instanceof z.ZodOptional || found instanceof z.ZodNullable || found instanceof z.ZodDefault) {
    found = found.unwrap();
  }
  return found;
}

/**
 * Parses a body as kubernetes-operator does: unknown fields are left out and listed, `""` and null count as absent.
 * @example readLeniently(z.object({ a: z.string() }), { a: '', b: 1 }) // { value: {}, unknown: ['b'] }
 */
export function readLeniently(schema: unknown, input: unknown): Read {
  const unknown: string[] = [];
  const walk = (known: unknown, value: unknown, path: string, depth: number): unknown => {
    if (depth > MAX_DEPTH) throw new HttpError(400, 'the body is nested too deeply');
    const type = inner(known);
    if (Array.isArray(value)) {
      const item = type instanceof z.ZodArray ? type.element : undefined;
      return value.map((entry, index) => walk(item, entry, `${path}[${index}]`, depth + 1));
    }
    if (!isFields(value)) return value;
    const out: Fields = {};
    for (const [name, entry] of Object.entries(value)) {
      const field = path === '' ? name : `${path}.${name}`;
      if (entry === '' || entry === null) continue;
      if (type instanceof z.ZodObject && !Object.hasOwn(type.shape, name)) {
        unknown.push(field);
        continue;
      }
      out[name] = walk(type instanceof z.ZodObject ? type.shape[name] : undefined, entry, field, depth + 1);
    }
    return out;
  };
  return { value: walk(schema, input, '', 0), unknown };
}

/** Most unknown fields that the header lists; the client must not control its whole content. */
const MAX_NAMED = 10;
const printable = (text: string): string => text.replaceAll(/[^\x21-\x7e]|["\\]/g, '?').slice(0, 60);

/** Returns the `Warning` header of RFC 7234: 299, miscellaneous and persistent. */
export const warningOf = (unknown: readonly string[]): string =>
  `299 - "ignored unknown fields: ${unknown.slice(0, MAX_NAMED).map(printable).join(', ')}"`;

/** Makes the routes of this scope parse JSON whatever the content type is, and nothing if there is no body. */
export function takeAnyContentType(scope: FastifyInstance): void {
  scope.addHook('onRequest', async ({ raw }) => {
    const { headers } = raw;
    const empty = headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
    if (empty) delete headers['content-type'];
    else headers['content-type'] = 'application/json';
  });
}

/** Makes the routes of this scope whose bodies Fastify validates parse them as kubernetes-operator does. */
export function readBodiesLeniently(scope: FastifyInstance): void {
  scope.addHook('preValidation', async (request, reply) => {
    const { schema } = request.routeOptions;
    if (!(schema?.body instanceof z.ZodType)) return;
    const { value, unknown } = readLeniently(schema.body, request.body ?? {});
    request.body = value;
    if (unknown.length > 0) reply.header('warning', warningOf(unknown));
  });
}

/**
 * Throws HttpError 422 for unknown fields that are probably misspelled names of important ones: immutable fields and host
 * lists.
 */
export function refuseTypos(schema: unknown, unknown: readonly string[]): void {
  const type = inner(schema);
  if (!(type instanceof z.ZodObject)) return;
  const fixed = [...IMMUTABLE, ...LISTS].filter((field) => Object.hasOwn(type.shape, field));
  const problems = unknown.flatMap((field) => {
    const meant = fixed.find((known) => isTypoOf(field, known));
    return meant === undefined ? [] : [{ field, reason: `is not a field; did you mean ${meant}?` }];
  });
  if (problems.length > 0) throw unprocessable(problems);
}
