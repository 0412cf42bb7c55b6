import { z } from 'zod';

/** A JSON schema as CRDs require it: OpenAPI v3, structural. Source: kubernetes.io, CustomResourceDefinitions. */
export type JsonSchema = { [key: string]: unknown };

export const isJsonSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Bounds of safe integers that zod adds; they carry no information. */
const NOISE = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]);

/**
 * Converts a schema from zod into one that an API server accepts as structural. In `meta`, `crdDefault` becomes the default
 * and `listMapKeys` a list of type map. `atomic` becomes a map that is replaced as a whole, `preserveUnknown` one of any
 * content. `intOrString` accepts both, and `validations` become CEL rules.
 */
export function structural(schema: unknown): JsonSchema {
  if (!isJsonSchema(schema)) return {};
  if (schema['intOrString'] === true) return { 'x-kubernetes-int-or-string': true };
  const {
    additionalProperties,
    atomic,
    crdDefault,
    listMapKeys,
    preserveUnknown,
    propertyNames: _names,
    $schema: _url,
    validations,
    ...rest
  } = schema;
  const out: JsonSchema = {};
  for (const [key, value] of Object.entries(rest)) {
    if ((key === 'maximum' || key === 'minimum') && typeof value === 'number' && NOISE.has(value)) continue;
    if (key === 'properties' && isJsonSchema(value)) {
      out[key] = Object.fromEntries(
        Object.entries(value).map(([name, property]) => [name, structural(property)]),
      );
    } else if (key === 'items') {
      out[key] = structural(value);
    } else {
      out[key] = value;
    }
  }
  if (isJsonSchema(additionalProperties) && Object.keys(additionalProperties).length > 0) {
    out['additionalProperties'] = structural(additionalProperties);
  }
  if (crdDefault !== undefined) out['default'] = crdDefault;
  if (atomic === true) out['x-kubernetes-map-type'] = 'atomic';
  if (preserveUnknown === true) out['x-kubernetes-preserve-unknown-fields'] = true;
  if (validations !== undefined) out['x-kubernetes-validations'] = validations;
  if (Array.isArray(listMapKeys)) {
    out['x-kubernetes-list-type'] = 'map';
    out['x-kubernetes-list-map-keys'] = listMapKeys;
  }
  return out;
}

export const structuralOf = (schema: z.ZodType): JsonSchema =>
  structural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }));

/** Removes defaults, which belong in `spec` only: they would change a copy of the spec in status. */
export function withoutDefaults(schema: JsonSchema): JsonSchema {
  const { default: _default, ...rest } = schema;
  return Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      key === 'properties' && isJsonSchema(value)
        ? Object.fromEntries(
            Object.entries(value).map(([name, property]) => [
              name,
              isJsonSchema(property) ? withoutDefaults(property) : property,
            ]),
          )
        : value,
    ]),
  );
}
