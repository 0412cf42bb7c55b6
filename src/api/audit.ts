import { z } from 'zod';

/** Levels and stages of audit.k8s.io/v1 (kubernetes.io, Auditing). */
const levelSchema = z
  .enum(['None', 'Metadata', 'Request', 'RequestResponse'])
  .meta({ description: 'How much of a request is logged.' });
const stagesSchema = z
  .array(z.enum(['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic']))
  .max(4)
  .optional()
  .meta({ description: 'Stages of a request that are not logged.' });
const managedFieldsSchema = z
  .boolean()
  .optional()
  .meta({ description: 'Whether managed fields are left out of bodies.' });
const texts = (description: string) => z.array(z.string().max(253)).max(500).optional().meta({ description });

const ruleSchema = z.object({
  level: levelSchema,
  users: texts('Users whose requests fit; left out: all.'),
  userGroups: texts('Groups of users; left out: all.'),
  verbs: texts('Verbs; left out: all.'),
  resources: z
    .array(
      z.object({
        group: z.string().max(253).optional().meta({ description: 'API group; left out: the core.' }),
        resources: texts('Like pods, pods/log or */scale; left out: all of the group.'),
        resourceNames: texts('Names of objects; left out: all.'),
      }),
    )
    .max(500)
    .optional()
    .meta({ description: 'Resources that fit; left out: all.' }),
  namespaces: texts('Namespaces; "" fits what has none; left out: all.'),
  nonResourceURLs: texts('Paths, with "*" at the end; not beside resources.'),
  omitStages: stagesSchema,
  omitManagedFields: managedFieldsSchema,
});

/** An audit policy, field by field: an API server does not start with one that has a field that it does not know. */
const policySchema = z.object({
  apiVersion: z.enum(['audit.k8s.io/v1']).optional().meta({ description: 'May be left out.' }),
  kind: z.enum(['Policy']).optional().meta({ description: 'May be left out.' }),
  omitStages: stagesSchema,
  omitManagedFields: managedFieldsSchema,
  rules: z.array(ruleSchema).min(1).max(500).meta({ description: 'The first that fits a request decides.' }),
});

export const auditSchema = z.object({
  policy: policySchema.meta({ description: 'A Policy of audit.k8s.io/v1.' }),
  maxAgeDays: z.int().min(1).max(3650).optional().meta({ description: 'Default: 30.' }),
  maxBackups: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: 'Old files that are kept; default: 10.' }),
  maxSizeMB: z.int().min(1).max(10_000).optional().meta({ description: 'Size of one file; default: 100.' }),
});
export type Audit = z.infer<typeof auditSchema>;
