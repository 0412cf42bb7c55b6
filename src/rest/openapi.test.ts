import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { routes } from './index.ts';
import { openApiOf } from './openapi.ts';

const json = z.record(z.string(), z.unknown());
const document = openApiOf(routes, '/api/v1');
const operations = Object.values(document.paths).flatMap((path) => Object.values(json.parse(path)));
const operationSchema = z.object({
  operationId: z.string(),
  summary: z.string().min(1),
  description: z.string().min(1),
  parameters: z.array(z.object({ name: z.string(), description: z.string().min(1) })),
  requestBody: z.object({ required: z.boolean() }).optional(),
  responses: z.record(z.string(), z.object({ content: z.record(z.string(), json) })),
});

/** Lists the paths of properties without a description. */
function undescribed(value: unknown, path: string): string[] {
  const schema = json.safeParse(value).data ?? {};
  const inside = Object.entries(json.safeParse(schema['properties']).data ?? {}).flatMap(
    ([name, property]) => {
      const { description, $ref } = json.parse(property);
      const missing = description === undefined && $ref === undefined ? [`${path}.${name}`] : [];
      return [...missing, ...undescribed(property, `${path}.${name}`)];
    },
  );
  return [...inside, ...(schema['items'] ? undescribed(schema['items'], `${path}[]`) : [])];
}

describe('the OpenAPI document', () => {
  it('has one operation for each route, with a unique id and described parameters', () => {
    const ids = operations.map((operation) => operationSchema.parse(operation).operationId);
    expect(ids.sort()).toEqual(routes.map(({ operationId }) => operationId).sort());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('requires a body only if the route has one, and uses one error schema', () => {
    for (const operation of operations) {
      const { operationId, requestBody, responses } = operationSchema.parse(operation);
      expect([operationId, requestBody?.required ?? false]).toEqual([
        operationId,
        [
          'createCluster',
          'scaleUp',
          'scaleDown',
          'relabel',
          'replace',
          'moveEtcd',
          'repair',
          'renew',
          'reconfigure',
          'rotate',
          'update',
          'snapshot',
          'restore',
          'rollback',
        ].includes(operationId),
      ]);
      for (const [status, { content }] of Object.entries(responses).filter(
        ([code]) => !code.startsWith('20'),
      )) {
        const { schema } = z.object({ schema: json }).parse(content['application/json']);
        expect([status, schema]).toEqual([status, { $ref: '#/components/schemas/Error' }]);
      }
    }
    expect(JSON.stringify(document)).not.toMatch(/\$defs|crdDefault|listMapKeys|callback/);
  });

  it('describes every field of every component', () => {
    const { schemas } = document.components;
    expect(Object.keys(schemas)).toContain('CreateCluster');
    const missing = Object.entries(schemas).flatMap(([name, schema]) => undescribed(schema, name));
    expect(missing).toEqual([]);
  });

  it.each(routes.map((route) => [route.operationId, route] as const))(
    'has a valid example of %s',
    (_id, route) => {
      const { params, body, answer } = route.example;
      expect(route.params.safeParse(params).success).toBe(true);
      expect(route.body.safeParse(body).error).toBeUndefined();
      expect(route.answer.safeParse(answer).error).toBeUndefined();
    },
  );
});
