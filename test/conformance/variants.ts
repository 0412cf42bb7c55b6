import { z } from 'zod';

/** The part of a CRD's schema that describes allowed values. */
export interface Schema {
  type?: string | undefined;
  enum?: string[] | undefined;
  pattern?: string | undefined;
  maxLength?: number | undefined;
  minimum?: number | undefined;
  maximum?: number | undefined;
  required?: string[] | undefined;
  properties?: Record<string, Schema> | undefined;
  items?: Schema | undefined;
  additionalProperties?: Schema | undefined;
}

export const schemaSchema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    enum: z.array(z.string()).optional(),
    pattern: z.string().optional(),
    maxLength: z.number().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    required: z.array(z.string()).optional(),
    properties: z.record(z.string(), schemaSchema).optional(),
    items: schemaSchema.optional(),
    additionalProperties: schemaSchema.optional(),
  }),
);

export interface Property {
  /** Path of the property. Arrays contribute their first item, maps their key `k`. */
  path: string[];
  schema: Schema;
  required: boolean;
}

/** Lists every property below a schema, including the schema itself. */
export function propertiesOf(schema: Schema, path: string[] = [], required = true): Property[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
    propertiesOf(one, [...path, name], schema.required?.includes(name) ?? false),
  );
  const host = schema.items ? propertiesOf(schema.items, [...path, '0'], false) : [];
  const value = schema.additionalProperties
    ? propertiesOf(schema.additionalProperties, [...path, 'k'], false)
    : [];
  return [{ path, schema, required }, ...below, ...host, ...value];
}

export interface Variant {
  what: 'valid' | 'boundary' | 'invalid' | 'removed';
  /** New value; undefined removes the property. */
  value: unknown;
}

/** Lists valid and invalid values of a property, by its schema. */
export function variantsOf({ schema, required }: Property): Variant[] {
  const { type, pattern, maxLength, minimum, maximum } = schema;
  const some = (what: Variant['what'], ...values: unknown[]): Variant[] =>
    values.map((value) => ({ what, value }));
  const wrong: Record<string, unknown[]> = {
    string: [7, true, { a: 'b' }, ['a']],
    integer: ['7', 1.5, {}],
    boolean: ['yes', 1],
    array: ['a', { a: 'b' }, [7]],
    object: ['a', ['a'], 7],
  };
  return [
    ...some('valid', ...(schema.enum ?? [])),
    ...(type === 'boolean' ? some('valid', true, false) : []),
    ...(type === 'array' ? some('boundary', []) : []),
    ...(minimum === undefined ? [] : [...some('boundary', minimum), ...some('invalid', minimum - 1)]),
    ...(maximum === undefined ? [] : [...some('boundary', maximum), ...some('invalid', maximum + 1)]),
    ...(maxLength === undefined
      ? []
      : [...some('boundary', 'a'.repeat(maxLength)), ...some('invalid', 'a'.repeat(maxLength + 1))]),
    ...(pattern === undefined ? [] : some('invalid', '\n{{ no }}')),
    ...(schema.enum ? some('invalid', 'no-such-thing') : []),
    ...some('invalid', ...(wrong[type ?? ''] ?? [])),
    { what: required ? 'invalid' : 'removed', value: undefined },
  ];
}

/** Returns a copy of `whole` with another value at `path`. */
export function withValue(whole: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  if (Array.isArray(whole) || (whole === undefined && /^\d+$/.test(name))) {
    const list: unknown[] = Array.isArray(whole) ? [...whole] : [];
    const made = withValue(list[Number(name)], rest, value);
    list.splice(Number(name), 1, ...(made === undefined ? [] : [made]));
    return list;
  }
  const { [name]: old, ...others }: Record<string, unknown> =
    typeof whole === 'object' && whole !== null ? { ...whole } : {};
  const made = withValue(old, rest, value);
  return made === undefined ? others : { ...others, [name]: made };
}
