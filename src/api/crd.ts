import { z } from 'zod';
import { conditionSchema } from './conditions.ts';
import { IMMUTABLE, KUBERNETES_CLUSTERS, specSchema } from './kubernetes-cluster.ts';
import { OPERATION_NAMES, PHASES } from './words.ts';

/** A JSON schema as CRDs take it: OpenAPI v3, structural. Source: kubernetes.io, CustomResourceDefinitions. */
export type JsonSchema = { [key: string]: unknown };

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Safe bounds that zod adds and that say nothing. */
const NOISE = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]);

/** Turns a schema that zod made into one that an API server accepts as structural. */
export function structural(schema: unknown): JsonSchema {
  if (!isObject(schema)) return {};
  const {
    additionalProperties,
    atomic,
    crdDefault,
    listMapKeys,
    propertyNames: _names,
    $schema: _url,
    ...rest
  } = schema;
  const out: JsonSchema = {};
  for (const [key, value] of Object.entries(rest)) {
    if ((key === 'maximum' || key === 'minimum') && typeof value === 'number' && NOISE.has(value)) continue;
    if (key === 'properties' && isObject(value)) {
      out[key] = Object.fromEntries(
        Object.entries(value).map(([name, property]) => [name, structural(property)]),
      );
    } else if (key === 'items') {
      out[key] = structural(value);
    } else {
      out[key] = value;
    }
  }
  if (isObject(additionalProperties) && Object.keys(additionalProperties).length > 0) {
    out['additionalProperties'] = structural(additionalProperties);
  }
  if (crdDefault !== undefined) out['default'] = crdDefault;
  if (atomic === true) out['x-kubernetes-map-type'] = 'atomic';
  if (Array.isArray(listMapKeys)) {
    out['x-kubernetes-list-type'] = 'map';
    out['x-kubernetes-list-map-keys'] = listMapKeys;
  }
  return out;
}

const toStructural = (schema: z.ZodType): JsonSchema =>
  structural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }));

const text = z.string().max(4096);
const statusSchema = z.object({
  phase: z.enum(PHASES).optional(),
  reason: text.optional(),
  message: text.optional(),
  jobName: text.optional(),
  lastTransitionTime: text.optional(),
  observedGeneration: z.int().optional(),
  operation: z
    .object({
      id: text,
      name: z.enum(OPERATION_NAMES),
      sequence: z.int(),
      attempt: z.int(),
      word: text,
      requestId: text,
      specHash: text,
      generation: z.int(),
      spec: specSchema,
      step: text,
      startedAt: text,
      notBefore: text.optional(),
      endedAt: text.optional(),
      result: z.enum(['finished', 'failed', 'cancelled']).optional(),
    })
    // Written whole by one writer: who manages which of its fields is not worth the server's time.
    .meta({ atomic: true })
    .optional(),
  requests: z
    .array(
      z.object({
        word: text,
        requestId: text,
        specHash: text,
        sequence: z.int(),
        result: z.enum(['finished', 'failed', 'cancelled']).optional(),
      }),
    )
    .max(200)
    .optional(),
  conditions: z
    .array(conditionSchema)
    .max(20)
    .meta({ listMapKeys: ['type'] })
    .optional(),
  version: text.optional(),
  nodes: z.object({ ready: z.int(), total: z.int() }).optional(),
  certificatesExpire: text.optional(),
  hosts: z
    .array(z.object({ ip: text, state: text, message: text.optional() }))
    .max(1000)
    .optional(),
});

/** Drops what may only stand in `spec`: in a snapshot inside status, defaults and list keys would be wrong. */
function withoutDefaults(schema: JsonSchema): JsonSchema {
  const { default: _default, ...rest } = schema;
  return Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      key === 'properties' && isObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([name, property]) => [
              name,
              isObject(property) ? withoutDefaults(property) : property,
            ]),
          )
        : value,
    ]),
  );
}

/** A field that was set or left out stays so (docs/contract.md, KubernetesCluster). */
const immutability = IMMUTABLE.map((field) => ({
  rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  message: `${field} cannot be changed`,
}));

const column = (name: string, type: string, jsonPath: string, priority = 0) => ({
  name,
  type,
  jsonPath,
  priority,
});

/** The CustomResourceDefinition of KubernetesCluster, made from the same schema that validates requests. */
export function kubernetesClusterCrd(): JsonSchema {
  const { group, version, kind, plural } = KUBERNETES_CLUSTERS;
  const spec = toStructural(specSchema);
  const cluster = isObject(spec['properties']) ? spec['properties']['cluster'] : undefined;
  if (isObject(cluster)) cluster['x-kubernetes-validations'] = immutability;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, listKind: `${kind}List`, singular: kind.toLowerCase(), shortNames: ['ecs'] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            column('Phase', 'string', '.status.phase'),
            column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
            column('Version', 'string', '.status.version'),
            column('Step', 'string', '.status.operation.step', 1),
            column('Reason', 'string', '.status.reason', 1),
            column('Age', 'date', '.metadata.creationTimestamp'),
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec,
                status: withoutDefaults(toStructural(statusSchema)),
              },
            },
          },
        },
      ],
    },
  };
}
