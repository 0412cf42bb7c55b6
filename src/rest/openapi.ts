import { z } from 'zod';
import { cidrsSchema } from '#api/cidr.ts';
import { ipSchema } from '#api/host.ts';
import { takesBody } from './addressing.ts';
import { errorSchema } from './answers.ts';
import { askedSchema } from './plan.ts';
import type { Route } from './route.ts';

type Json = Record<string, unknown>;
const jsonSchema = z.record(z.string(), z.unknown());

/** Adds formats that zod hides behind a refinement, and removes fields that only the CRD needs. */
function override({ zodSchema, jsonSchema: made }: { zodSchema: unknown; jsonSchema: Json }): void {
  if (zodSchema === ipSchema) made['anyOf'] = [{ format: 'ipv4' }, { format: 'ipv6' }];
  if (zodSchema === cidrsSchema) made['pattern'] = '^[0-9a-fA-F:.]+/[0-9]{1,3}(,[0-9a-f:.]+/[0-9]{1,3})?$';
  delete made['crdDefault'];
  delete made['listMapKeys'];
  delete made['preserveUnknown'];
}

/** Response with its description. */
type Described = {
  description: string;
  headers: Headers;
  content: Record<string, { schema: object; example?: unknown }>;
};
type Headers = Record<string, { description: string; schema: { type: 'string' } }>;

/** Parts of an OpenAPI 3.1 document that callers read. */
interface OpenApi {
  openapi: string;
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, object>;
  components: {
    schemas: Record<string, object>;
    responses: Record<string, Described>;
    securitySchemes: { token: { type: 'http'; scheme: string } };
  };
  security: Record<string, string[]>[];
}

/** Returns the OpenAPI document of these routes, whose paths begin with `prefix`. */
export function openApiOf(routes: readonly Route[], prefix: string): OpenApi {
  const schemas: Record<string, object> = {};

  /** Returns the inline schema; a schema with an id becomes a component. */
  function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
    const made = z.toJSONSchema(z.object({ it: schema }), { io, unrepresentable: 'any', override });
    const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
    const { properties, $defs = {} } = z
      .object({ properties: jsonSchema, $defs: z.record(z.string(), jsonSchema).optional() })
      .parse(JSON.parse(text));
    Object.assign(schemas, $defs);
    return jsonSchema.parse(properties['it']);
  }

  function parametersOf(schema: z.ZodType, where: 'path' | 'query'): Json[] {
    const { properties = {}, required = [] } = z
      .object({
        properties: z.record(z.string(), jsonSchema).optional(),
        required: z.array(z.string()).optional(),
      })
      .parse(schemaOf(schema, 'input'));
    return Object.entries(properties).map(([name, { description, ...rest }]) => ({
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }));
  }

  const error = (status: number): Described => ({
    description: WHEN[status] ?? 'Refused',
    headers: headersOf(HEADERS[status] ?? []),
    content: { 'application/json': { schema: schemaOf(errorSchema, 'output') } },
  });

  function operationOf(it: Route): Json {
    const hasBody = takesBody(it.body);
    const errors = [...OF_ALL, ...it.errors].sort();
    const success: Described = {
      description: 'Success',
      headers: headersOf(it.method === 'GET' ? [] : ['Location', 'Warning']),
      content: {
        [it.isStream ? 'text/event-stream' : 'application/json']: {
          schema: schemaOf(it.answer, 'output'),
          example: it.example.answer,
        },
        ...(it.text ? { [it.text]: { schema: { type: 'string' } } } : {}),
      },
    };
    return {
      operationId: it.operationId,
      summary: it.summary,
      description: it.description,
      tags: ['clusters'],
      parameters: [...parametersOf(it.params, 'path'), ...parametersOf(it.query, 'query')],
      ...(hasBody
        ? {
            requestBody: {
              required: !it.body.safeParse(undefined).success,
              content: {
                'application/json': {
                  schema: schemaOf(unwrapped(it.body), 'input'),
                  example: it.example.body,
                },
              },
            },
          }
        : {}),
      responses: {
        [it.status ?? 200]: success,
        ...(it.answer === askedSchema ? { 202: { ...success, description: ASYNC } } : {}),
        ...Object.fromEntries(errors.map((status) => [status, error(status)])),
      },
    };
  }

  const paths: Record<string, Json> = {};
  for (const it of routes) {
    const path = `${prefix}${it.path}`;
    paths[path] = { ...paths[path], [it.method.toLowerCase()]: operationOf(it) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Matryoshka', version: 'v1', description: 'Kubernetes clusters on hosts, over SSH' },
    tags: [{ name: 'clusters', description: 'Clusters, for people' }],
    paths,
    components: {
      schemas,
      // This response belongs to paths, not to operations.
      responses: { MethodNotAllowed: error(405) },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{ token: [] }],
  };
}

/** Success of a request with the header `Prefer: respond-async`. */
const ASYNC = 'Success, if the client prefers respond-async; Location is the path of the operation';

const DESCRIBED = {
  'X-Request-Id': 'Id of the request, as the audit line of the server has it',
  'Retry-After': 'Seconds after which to try again',
  'WWW-Authenticate': 'Bearer',
  Allow: 'Methods of the path',
  Location: 'Path of the cluster, or of the operation',
  Warning: 'Names fields that were ignored',
} as const;
type Header = keyof typeof DESCRIBED;

/** Headers of some answers, besides the header of all. */
const HEADERS: Readonly<Record<number, readonly Header[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

const headersOf = (names: readonly Header[]): Headers =>
  Object.fromEntries(
    (['X-Request-Id', ...names] as const).map((name) => [
      name,
      { description: DESCRIBED[name], schema: { type: 'string' } },
    ]),
  );

const unwrapped = (schema: z.ZodType): z.ZodType => {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  return inner instanceof z.ZodType ? inner : schema;
};

/** Error statuses of every route. */
const OF_ALL = [400, 401, 403, 408, 422, 429, 431, 500, 503];

const WHEN: Readonly<Record<number, string>> = {
  400: 'No JSON, or a wrong type',
  401: 'No token, or one that is not valid here',
  403: 'Not allowed, whether or not the object exists',
  404: 'No such cluster in that namespace and region',
  405: 'The path has no such method; see Allow',
  408: 'The request did not come within 30 s',
  409: 'The state of the cluster forbids it',
  410: 'The value of the last page is too old; begin again without it',
  412: 'The cluster has another version than If-Match names',
  413: 'A body over 1 MiB',
  422: 'A value that cannot be',
  429: 'Too many; try again after Retry-After',
  431: 'Path and headers are longer than 16 KiB',
  500: 'The server failed; its log says why',
  503: 'The Kubernetes API does not answer; try again after Retry-After',
};
