import { z } from 'zod';
import { conditionSchema } from './conditions.ts';
import { AGE, column, definitionOf } from './custom-resource.ts';
import { HOSTS, type HostState, hostRecordSpecSchema, hostRecordStatusSchema } from './host-record.ts';
import { IMMUTABLE, KUBERNETES_CLUSTERS, specSchema } from './kubernetes-cluster.ts';
import { marks } from './names.ts';
import { planStatusSchema } from './plan-status.ts';
import { isJsonSchema, type JsonSchema, structuralOf, withoutDefaults } from './structural-schema.ts';
import { OPERATION_NAMES, PHASES, RESULTS } from './words.ts';

/** The CustomResourceDefinitions, made from the same schemas that validate requests and read what is stored. */

const text = z.string().max(4096);
const statusSchema = z.object({
  phase: z.enum(PHASES).optional(),
  reason: text.optional(),
  message: text.optional(),
  summary: text.optional().meta({ description: 'Current activity, or the action that a person must take.' }),
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
      spec: specSchema.omit({ policy: true, hooks: true }),
      step: text,
      hooksDone: z.int().optional(),
      startedAt: text,
      notBefore: text.optional(),
      plan: text.optional(),
      cancelledAt: text.optional(),
      cancelledBy: text.optional(),
      requestedBy: text.optional(),
      endedAt: text.optional(),
      result: z.enum(RESULTS).optional(),
      recorded: z.boolean().optional(),
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
        result: z.enum(RESULTS).optional(),
        history: z.int().optional(),
      }),
    )
    .max(250)
    .optional(),
  plan: planStatusSchema
    .optional()
    .meta({ atomic: true, description: 'Result of a dry run (annotation ecs.yun.com/dry-run).' }),
  conditions: z
    .array(conditionSchema)
    .max(20)
    .meta({ listMapKeys: ['type'] })
    .optional(),
  version: text.optional(),
  certificatesExpire: text.optional(),
  nodes: z
    .object({ ready: z.int(), total: z.int() })
    .optional()
    .meta({ description: 'Nodes of the cluster; absent while nobody can tell.' }),
  hosts: z
    .array(z.object({ ip: text, state: text, message: text.optional() }))
    .max(100)
    .optional()
    .meta({ description: 'Hosts that need attention; the Host records have all.' }),
  hostStates: z
    .record(z.string(), z.int())
    .optional()
    .meta({ description: 'Number of hosts in each state.' }),
});

/** A field that was set or left out stays so (docs/contract.md, KubernetesCluster). */
const immutability = IMMUTABLE.map((field) => ({
  rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  message: `${field} cannot be changed`,
}));

export function kubernetesClusterCrd(): JsonSchema {
  const spec = structuralOf(specSchema);
  const cluster = isJsonSchema(spec['properties']) ? spec['properties']['cluster'] : undefined;
  if (isJsonSchema(cluster)) cluster['x-kubernetes-validations'] = immutability;
  return definitionOf({
    resource: KUBERNETES_CLUSTERS,
    shortName: 'ecs',
    columns: [
      column('Phase', 'string', '.status.phase'),
      column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
      column('Version', 'string', '.status.version'),
      column('Summary', 'string', '.status.summary'),
      column('Step', 'string', '.status.operation.step', 1),
      column('Reason', 'string', '.status.reason', 1),
      column('Message', 'string', '.status.message', 1),
      AGE,
    ],
    spec,
    status: withoutDefaults(structuralOf(statusSchema)),
  });
}

export function hostCrd(): JsonSchema {
  const status = structuralOf(hostRecordStatusSchema);
  const properties = status['properties'];
  const state = isJsonSchema(properties) ? properties['state'] : undefined;
  // A host that was taken has no status yet; the table says all the same how it stands.
  if (isJsonSchema(state)) state['default'] = 'Held' satisfies HostState;
  status['default'] = {};
  return definitionOf({
    resource: HOSTS,
    shortName: 'ecsh',
    columns: [
      column('Cluster', 'string', '.spec.cluster'),
      column('Node', 'string', '.spec.name'),
      column('Duties', 'string', `.metadata.annotations.${marks.duties.replaceAll('.', '\\.')}`),
      column('Version', 'string', '.status.versions.kubelet'),
      column('State', 'string', '.status.state'),
      // The name is the address already, but for the colons of an IPv6 one.
      column('Address', 'string', '.spec.ip', 1),
      column('Last run', 'string', '.status.lastRun.operation', 1),
      column('Message', 'string', '.status.lastRun.message', 1),
      AGE,
    ],
    spec: withoutDefaults(structuralOf(hostRecordSpecSchema)),
    status,
  });
}
