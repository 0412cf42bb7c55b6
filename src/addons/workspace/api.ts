import { z } from 'zod';
import { conditionSchema } from '#api/conditions.ts';
import { AGE, column, definitionOf } from '#api/custom-resource.ts';
import { DNS_LABEL } from '#api/host.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { GROUP } from '#api/names.ts';
import { type JsonSchema, structuralOf } from '#api/structural-schema.ts';

/** Kind Workspace: a development environment in a pod, with a volume that outlives the pod (docs/workspace.md). */
export const WORKSPACES: Resource = {
  group: GROUP,
  version: 'v1alpha1',
  kind: 'Workspace',
  plural: 'workspaces',
  namespaced: true,
};

/** Label of pods and volumes of Workspaces, whatever their names are. */
export const CLOUD_IDE = { kind: 'cloud-ide' } as const;

export const workspaceAnnotations = {
  /**
   * RFC 3339. Until then a call waits for the Workspace that it created. The controller removes the Workspace after that.
   */
  awaitedUntil: `${GROUP}/awaited-until`,
  /** Id of the call that created or started it and still waits. */
  askedBy: `${GROUP}/asked-by`,
  /** RFC 3339. Time of the last use. */
  activeAt: `${GROUP}/active-at`,
} as const;

/** Reasons why a Workspace cannot run; each is a reason of condition Stalled. */
export type CannotRun =
  | 'QuotaExceeded'
  | 'Refused'
  | 'NameTaken'
  | 'InvalidImage'
  | 'ImageNotPulled'
  | 'Unschedulable'
  | 'CannotStart'
  | 'Crashes'
  | 'PodFailed';

const MAX_NAME = 63;
/** Minutes of a year. */
const MAX_MINUTES = 525_600;
const CPU = /^([1-9][0-9]{0,5}(m|\.[0-9]{1,3})?|0\.([1-9][0-9]{0,2}|0[1-9][0-9]?|00[1-9]))$/;
const BYTES = /^[1-9][0-9]{0,17}(\.[0-9]{1,3})?(k|Ki|[MGTPE]i?)?$/;

export const workspaceNameSchema = z
  .string()
  .max(MAX_NAME, `must have at most ${MAX_NAME} characters`)
  .regex(DNS_LABEL, 'must have lower-case letters, digits and "-" only, and begin and end with no "-"');

const bytes = z.string().max(32).regex(BYTES, 'must be a size such as 512Mi or 10Gi');
const amounts = z.object({
  cpu: z.string().max(16).regex(CPU, 'must be a number of cores such as 500m or 1.5').optional(),
  memory: bytes.optional(),
});

export const workspaceSpecSchema = z
  .object({
    image: z
      .string()
      .max(512)
      .regex(/^[a-zA-Z0-9]\S*$/, 'must name an image, such as registry.example/editor:1')
      .meta({ description: 'Image of the editor; pulled if the node does not have it.' }),
    port: z
      .int()
      .min(1, 'must be a port of 1 to 65535')
      .max(65_535, 'must be a port of 1 to 65535')
      .meta({ description: 'Port of the editor. The Workspace is Running when the port is open.' }),
    resources: z
      .object({
        limits: amounts.optional(),
        requests: amounts.optional().meta({
          description: 'Requested resources; default: the limits.',
        }),
      })
      .optional()
      .meta({
        validations: (['cpu', 'memory'] as const).map((name) => ({
          rule: `!has(self.limits) || !has(self.limits.${name}) || !has(self.requests) || !has(self.requests.${name}) || !isQuantity(self.limits.${name}) || !isQuantity(self.requests.${name}) || quantity(self.requests.${name}).compareTo(quantity(self.limits.${name})) <= 0`,
          message: `must be at most limits.${name}`,
          fieldPath: `.requests.${name}`,
        })),
      }),
    runAsUser: z
      .int()
      .min(1, 'must be 1 to 65535: no Workspace runs as root')
      .max(65_535, 'must be 1 to 65535')
      .optional()
      .meta({ crdDefault: 1000, description: 'User and group of the editor, and group of the volume.' }),
    storage: z
      .object({
        size: bytes,
        className: z
          .string()
          .max(253)
          .optional()
          .meta({ description: 'StorageClass; default: that of the cluster.' }),
      })
      .optional()
      .meta({ description: 'Volume that outlives the pod; default: files go with the pod.' }),
    mountPath: z
      .string()
      .max(256)
      .regex(/^\/[^:\s]+$/)
      .optional()
      .meta({ crdDefault: '/workspace', description: 'Mount path of the volume, and HOME.' }),
    running: z
      .boolean()
      .optional()
      .meta({ crdDefault: true, description: 'Whether the pod runs; the volume stays in any case.' }),
    idleStopMinutes: z
      .int()
      .min(1)
      .max(MAX_MINUTES)
      .optional()
      .meta({ description: 'Stops the Workspace after so many minutes without use; default: never.' }),
    ttlMinutes: z.int().min(1).max(MAX_MINUTES).optional().meta({
      description:
        'Removes the Workspace with its volume so many minutes after its creation; default: never.',
    }),
  })
  .meta({
    validations: [
      {
        rule: 'has(self.storage) == has(oldSelf.storage) && (!has(self.storage) || self.storage == oldSelf.storage)',
        message: 'cannot be changed: a volume keeps its size and class',
        fieldPath: '.storage',
      },
    ],
  });

const PHASES = ['Pending', 'Running', 'Stopping', 'Stopped', 'Failed'] as const;

const workspaceStatusSchema = z.object({
  observedGeneration: z.int().optional(),
  phase: z.enum(PHASES).optional(),
  nodeName: z.string().max(253).optional(),
  ip: z.string().max(64).optional(),
  port: z.int().optional(),
  conditions: z
    .array(conditionSchema)
    .max(10)
    .meta({ listMapKeys: ['type'] })
    .optional(),
});

export type WorkspaceSpec = z.infer<typeof workspaceSpecSchema>;
export type WorkspaceStatus = z.infer<typeof workspaceStatusSchema>;
export interface Workspace extends KubeObject {
  spec: WorkspaceSpec;
  status?: WorkspaceStatus;
}

export const workspaceCrd = (): JsonSchema =>
  definitionOf({
    resource: WORKSPACES,
    shortName: 'wsp',
    columns: [
      column('Phase', 'string', '.status.phase'),
      column('Node', 'string', '.status.nodeName'),
      column('IP', 'string', '.status.ip'),
      column('Port', 'integer', '.status.port'),
      column('Reason', 'string', '.status.conditions[?(@.type=="Ready")].reason', 1),
      column('Message', 'string', '.status.conditions[?(@.type=="Ready")].message', 1),
      AGE,
    ],
    spec: structuralOf(workspaceSpecSchema),
    status: structuralOf(workspaceStatusSchema),
    rules: [
      {
        rule: `self.metadata.name.size() <= ${MAX_NAME} && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')`,
        message: `its pod and volume have its name: lower-case letters, digits and -, at most ${MAX_NAME} characters`,
      },
    ],
  });
