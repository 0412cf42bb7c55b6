import { z } from 'zod';

/** Levels and stages of audit.k8s.io/v1 (kubernetes.io, Auditing). */
const levelSchema = z
  .enum(['None', 'Metadata', 'Request', 'RequestResponse'])
  .meta({ description: 'Detail of the log entry.' });
const stagesSchema = z
  .array(z.enum(['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic']))
  .max(4)
  .optional()
  .meta({ description: 'Stages of a request that are not logged.' });
const managedFieldsSchema = z
  .boolean()
  .optional()
  .meta({ description: 'Leaves managed fields out of bodies.' });
const texts = (description: string) => z.array(z.string().max(253)).max(500).optional().meta({ description });

const ruleSchema = z.object({
  level: levelSchema,
  users: texts('Users; default: all.'),
  userGroups: texts('Groups of users; default: all.'),
  verbs: texts('Verbs; default: all.'),
  resources: z
    .array(
      z.object({
        group: z.string().max(253).optional().meta({ description: 'API group; default: the core group.' }),
        resources: texts('For example pods, pods/log or */scale; default: all of the group.'),
        resourceNames: texts('Names of objects; default: all.'),
      }),
    )
    .max(500)
    .optional()
    .meta({ description: 'Resources; default: all.' }),
  namespaces: texts('Namespaces; "" matches objects without a namespace. Default: all.'),
  nonResourceURLs: texts('Paths, with "*" at the end. Not together with resources.'),
  omitStages: stagesSchema,
  omitManagedFields: managedFieldsSchema,
});

/** An audit policy, field by field: an API server does not start if its policy has an unknown field. */
const policySchema = z.object({
  apiVersion: z.enum(['audit.k8s.io/v1']).optional().meta({ description: 'Optional.' }),
  kind: z.enum(['Policy']).optional().meta({ description: 'Optional.' }),
  omitStages: stagesSchema,
  omitManagedFields: managedFieldsSchema,
  rules: z
    .array(ruleSchema)
    .min(1)
    .max(500)
    .meta({ description: 'Rules; the first one that matches a request decides.' }),
});

export const auditSchema = z.object({
  policy: policySchema.meta({ description: 'A Policy of audit.k8s.io/v1.' }),
  maxAgeDays: z.int().min(1).max(3650).optional().meta({ description: 'Default: 30.' }),
  maxBackups: z.int().min(1).max(1000).optional().meta({ description: 'Number of old files; default: 10.' }),
  maxSizeMB: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .meta({ description: 'Maximum size of a file; default: 100.' }),
});
export type Audit = z.infer<typeof auditSchema>;
