import { z } from 'zod';
import { conditionSchema } from './conditions.ts';
import { AGE, column, definitionOf } from './custom-resource.ts';
import { MAX_LISTED_SNAPSHOTS } from './etcd-snapshots.ts';
import { HOSTS, type HostState, hostRecordSpecSchema, hostRecordStatusSchema } from './host-record.ts';
import { IMMUTABLE, KUBERNETES_CLUSTERS, specSchema } from './kubernetes-cluster.ts';
import { internalAnnotations } from './names.ts';
import { OPERATION_NAMES, PHASES, RESULTS } from './operation-values.ts';
import { planStatusSchema } from './plan-status.ts';
import { isJsonSchema, type JsonSchema, structuralOf, withoutDefaults } from './structural-schema.ts';

/** The CustomResourceDefinitions, generated from the schemas that validate requests and parse stored objects. */

const text = z.string().max(4096);
const statusSchema = z.object({
  phase: z.enum(PHASES).optional().meta({ description: 'Phase of the cluster.' }),
  reason: text.optional().meta({ description: 'Reason of the phase, if the cluster needs attention.' }),
  message: text.optional().meta({ description: 'Details of the reason.' }),
  summary: text.optional().meta({ description: 'Current activity, or the action that the user must take.' }),
  jobName: text.optional().meta({ description: 'Job of the current or last attempt.' }),
  lastTransitionTime: text.optional().meta({ description: 'Time of the last change of the phase.' }),
  observedGeneration: z
    .int()
    .optional()
    .meta({ description: 'Generation of the spec that this status describes.' }),
  operation: z
    .object({
      id: text.meta({ description: 'Id of the operation, also in the names of its Job and record.' }),
      name: z.enum(OPERATION_NAMES),
      sequence: z.int().meta({ description: 'Number of the operation in the life of the cluster.' }),
      attempt: z.int().meta({ description: 'Number of the attempt, from 1.' }),
      word: text.meta({ description: 'Value of the operation annotation.' }),
      requestId: text.meta({ description: 'Value of the request-id annotation.' }),
      specHash: text.meta({ description: 'Hash of the spec that the operation carries out.' }),
      generation: z.int().meta({ description: 'Generation of that spec.' }),
      spec: specSchema
        .omit({ policy: true, hooks: true })
        .meta({ description: 'Copy of the spec that the operation carries out.' }),
      step: text.meta({ description: 'Current step: a play of the playbook.' }),
      hooksDone: z.int().optional().meta({ description: 'Number of hooks that have succeeded.' }),
      startedAt: text.meta({ description: 'Time of acceptance.' }),
      phaseBefore: text.optional().meta({ description: 'Phase before a snapshot, and after it.' }),
      notBefore: text.optional().meta({ description: 'Earliest start of the next attempt.' }),
      plan: text.optional().meta({ description: 'Plan hash that the user approved.' }),
      snapshot: text.optional().meta({ description: 'Snapshot that the operation restores.' }),
      cancelledAt: text.optional().meta({ description: 'Time of the cancellation.' }),
      cancelledBy: text.optional().meta({ description: 'User who cancelled.' }),
      requestedBy: text.optional().meta({ description: 'User who requested the operation.' }),
      endedAt: text.optional().meta({ description: 'Time of the end.' }),
      result: z.enum(RESULTS).optional().meta({ description: 'Result of the operation.' }),
      recorded: z
        .boolean()
        .optional()
        .meta({ description: 'Whether record and result annotation are written.' }),
    })
    // A single writer replaces the object as a whole; managed fields inside it would only cost the API server time.
    .meta({ atomic: true })
    .optional(),
  requests: z
    .array(
      z.object({
        word: text.meta({ description: 'Value of the operation annotation.' }),
        requestId: text.meta({ description: 'Value of the request-id annotation.' }),
        specHash: text.meta({ description: 'Hash of the spec that the operation carries out.' }),
        sequence: z.int().meta({ description: 'Number of the operation in the life of the cluster.' }),
        result: z.enum(RESULTS).optional().meta({ description: 'Result of the operation.' }),
        history: z.int().optional().meta({ description: 'Number of records to keep, from the spec.' }),
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
  version: text.optional().meta({ description: 'Kubernetes version of the cluster.' }),
  certificatesExpire: text
    .optional()
    .meta({ description: 'Expiry of the first certificate that ends, of those known.' }),
  etcdSnapshots: z
    .object({
      stored: z
        .array(z.object({ name: text, createdAt: text, size: z.int() }))
        .max(MAX_LISTED_SNAPSHOTS)
        .meta({ description: 'The newest snapshots in the storage, the newest first; size in bytes.' }),
      failedAt: text
        .optional()
        .meta({ description: 'When the last snapshot failed, if none has succeeded since.' }),
    })
    .optional()
    .meta({ description: 'Snapshots of etcd, as of the last operation that saved one.' }),
  nodes: z
    .object({ ready: z.int(), total: z.int() })
    .optional()
    .meta({ description: 'Nodes of the cluster; absent while the number is unknown.' }),
  hosts: z
    .array(z.object({ ip: text, state: text, message: text.optional() }))
    .max(100)
    .optional()
    .meta({ description: 'Hosts that need attention. The Host records list all hosts.' }),
  hostStates: z
    .record(z.string(), z.int())
    .optional()
    .meta({ description: 'Number of hosts in each state.' }),
});

/** A field cannot be set, changed or removed later (docs/reference/kubernetescluster.md). */
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
  // A host that was just held has no status yet; the default shows its state in the table all the same.
  if (isJsonSchema(state)) state['default'] = 'Held' satisfies HostState;
  status['default'] = {};
  return definitionOf({
    resource: HOSTS,
    shortName: 'ecsh',
    columns: [
      column('Cluster', 'string', '.spec.cluster'),
      column('Node', 'string', '.spec.name'),
      column(
        'Duties',
        'string',
        `.metadata.annotations.${internalAnnotations.duties.replaceAll('.', '\\.')}`,
      ),
      column('Version', 'string', '.status.versions.kubelet'),
      column('State', 'string', '.status.state'),
      // The object's name is the address already, except that an IPv6 address has dashes there.
      column('Address', 'string', '.spec.ip', 1),
      column('Last run', 'string', '.status.lastRun.operation', 1),
      column('Message', 'string', '.status.lastRun.message', 1),
      AGE,
    ],
    spec: withoutDefaults(structuralOf(hostRecordSpecSchema)),
    status,
  });
}
