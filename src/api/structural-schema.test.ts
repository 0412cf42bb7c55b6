import { expect, it } from 'vitest';
import { z } from 'zod';
import { structural } from './structural-schema.ts';

it('converts a zod schema into a structural schema for the API server', () => {
  const schema = z.object({
    port: z.int().optional(),
    hosts: z.array(z.object({ ip: z.string() })).meta({ listMapKeys: ['ip'] }),
    mode: z.string().meta({ crdDefault: 'container' }),
    whole: z.object({ a: z.string() }).meta({ atomic: true }),
    any: z.record(z.string(), z.unknown()).meta({ preserveUnknown: true }),
  });
  const made = structural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }));
  expect(made).toMatchObject({
    type: 'object',
    properties: {
      port: { type: 'integer' },
      hosts: {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['ip'],
        items: { type: 'object' },
      },
      mode: { default: 'container' },
      any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      whole: { 'x-kubernetes-map-type': 'atomic', properties: { a: { type: 'string' } } },
    },
  });
  expect(JSON.stringify(made)).not.toMatch(
    /9007199254740991|additionalProperties|crdDefault|listMapKeys|preserveUnknown/,
  );
});
