import { z } from 'zod';
import { conditionSchema } from '#api/conditions.ts';
import { AGE, column, definitionOf } from '#api/custom-resource.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { type JsonSchema, structuralOf } from '#api/structural-schema.ts';

/** Kind LocalService: Services for the pods of one node each (docs/localservice.md). */
export const LOCAL_SERVICES: Resource = {
  group: 'localservicecontroller.k8s.io',
  version: 'v1alpha1',
  kind: 'LocalService',
  plural: 'localservices',
  namespaced: true,
};

/** Label of pods: the node on which the pod runs. */
export const RACK_LABEL = 'vm/rack';
/** Label of Services: the LocalService that they belong to. */
export const OWNER_LABEL = 'owner';
/** Longest name of a LocalService: it must fit into a DNS label with a node's name, or with a part of it and a hash. */
const MAX_NAME = 50;

/** Maximum number of nodes of a cluster. Source: kubernetes.io, Considerations for large clusters. */
export const MAX_SHORTENED = 5_000;

const label = z.string().max(317);
const labelMap = z.record(label, z.string().max(63));

const portSchema = z.object({
  name: z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
    .optional(),
  protocol: z.enum(['TCP', 'UDP', 'SCTP']).optional().meta({ crdDefault: 'TCP' }),
  appProtocol: z.string().max(317).optional(),
  port: z.int().min(1).max(65_535),
  targetPort: z
    .union([z.int(), z.string().max(15)])
    .optional()
    .meta({ intOrString: true }),
  nodePort: z.int().optional(),
});

/** Fields of a ServiceSpec that several Services cannot share, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  clusterIPs: 'each node has its own Service with its own addresses',
  externalIPs: 'an address cannot lead to several Services',
  externalName: 'a name outside the cluster has no pods on nodes',
  healthCheckNodePort: 'a port of the node cannot lead to several Services',
  loadBalancerIP: 'an address cannot lead to several Services',
};

/** Returns a CEL rule that the API server enforces. */
const rule = (expression: string, message: string, fieldPath?: string) => ({
  rule: expression,
  message,
  ...(fieldPath === undefined ? {} : { fieldPath }),
});

/** Fields of core/v1 ServiceSpec that nodes can share, and the node selector. */
export const localServiceSpecSchema = z
  .object({
    nodeSelector: labelMap.optional().meta({ description: 'Labels of the nodes; default: every node.' }),
    selector: labelMap.meta({
      description: 'Labels of the pods; the controller adds the node.',
      minProperties: 1,
    }),
    ports: z
      .array(portSchema)
      .min(1)
      .max(50)
      .meta({ listMapKeys: ['port', 'protocol'] }),
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).optional(),
    clusterIP: z.enum(['', 'None']).optional(),
    sessionAffinity: z.enum(['None', 'ClientIP']).optional(),
    sessionAffinityConfig: z
      .object({ clientIP: z.object({ timeoutSeconds: z.int().min(1).max(86_400) }) })
      .optional(),
    publishNotReadyAddresses: z.boolean().optional(),
    internalTrafficPolicy: z.enum(['Cluster', 'Local']).optional(),
    externalTrafficPolicy: z.enum(['Cluster', 'Local']).optional(),
    trafficDistribution: z.string().max(63).optional(),
    ipFamilies: z
      .array(z.enum(['IPv4', 'IPv6']))
      .max(2)
      .optional(),
    ipFamilyPolicy: z.enum(['SingleStack', 'PreferDualStack', 'RequireDualStack']).optional(),
    allocateLoadBalancerNodePorts: z.boolean().optional(),
    loadBalancerClass: z.string().max(317).optional(),
    loadBalancerSourceRanges: z.array(z.string().max(64)).max(100).optional(),
    clusterIPs: z.array(z.string().max(64)).max(2).optional(),
    externalIPs: z.array(z.string().max(64)).max(100).optional(),
    externalName: z.string().max(253).optional(),
    healthCheckNodePort: z.int().optional(),
    loadBalancerIP: z.string().max(64).optional(),
  })
  .meta({
    validations: [
      ...Object.entries(REFUSED).map(([field, why]) =>
        rule(`!has(self.${field})`, `cannot be set: ${why}`, `.${field}`),
      ),
      rule(
        'self.ports.all(p, !has(p.nodePort))',
        'nodePort cannot be set: a port of the node cannot lead to several Services',
        '.ports',
      ),
      rule(
        'self.ports.size() == 1 || self.ports.all(p, has(p.name))',
        'each of several ports must have a name',
        '.ports',
      ),
      rule(
        'self.ports.all(p, !has(p.name) || self.ports.exists_one(q, has(q.name) && q.name == p.name))',
        'names of ports must differ',
        '.ports',
      ),
      rule(
        `!('${RACK_LABEL}' in self.selector)`,
        `${RACK_LABEL} cannot be set: it becomes each node's`,
        '.selector',
      ),
      rule(
        "!has(self.clusterIP) || self.clusterIP != 'None' || !has(self.type) || self.type == 'ClusterIP'",
        'None goes with type ClusterIP alone',
        '.clusterIP',
      ),
    ],
  });

const localServiceStatusSchema = z.object({
  observedGeneration: z.int().optional(),
  nodes: z.int().optional().meta({ description: 'Nodes that match nodeSelector.' }),
  services: z.int().optional().meta({ description: 'Services that exist with the right content.' }),
  shortened: z
    .array(z.object({ node: label, service: z.string().max(63) }))
    .max(MAX_SHORTENED)
    .meta({
      listMapKeys: ['node'],
      description: 'Services whose name differs from <name>-<node>, by node.',
    })
    .optional(),
  conditions: z
    .array(conditionSchema)
    .max(10)
    .meta({ listMapKeys: ['type'] })
    .optional(),
});

export type LocalServiceSpec = z.infer<typeof localServiceSpecSchema>;
export type LocalServiceStatus = z.infer<typeof localServiceStatusSchema>;
export interface LocalService extends KubeObject {
  spec: LocalServiceSpec;
  status?: LocalServiceStatus;
}

export const localServiceCrd = (): JsonSchema =>
  definitionOf({
    resource: LOCAL_SERVICES,
    shortName: 'lsvc',
    columns: [
      column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
      column('Nodes', 'integer', '.status.nodes'),
      column('Services', 'integer', '.status.services'),
      column('Reason', 'string', '.status.conditions[?(@.type=="Ready")].reason', 1),
      column('Message', 'string', '.status.conditions[?(@.type=="Ready")].message', 1),
      AGE,
    ],
    spec: structuralOf(localServiceSpecSchema),
    status: structuralOf(localServiceStatusSchema),
    rules: [
      rule(
        `self.metadata.name.size() <= ${MAX_NAME} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')`,
        `its name begins names of Services: lower-case letters, digits and -, a letter first, at most ${MAX_NAME} characters`,
      ),
    ],
  });
