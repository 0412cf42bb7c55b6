import { z } from 'zod';

/** The answer of the original's routes to success. */
export const okSchema = z
  .object({
    code: z.literal('OK').meta({ description: 'The text of the HTTP status.' }),
    message: z.string().meta({ description: '"success", or what was asked for.' }),
  })
  .meta({
    id: 'Success',
    description: 'It is asked; look at the cluster, or follow the log, for how it ends.',
  });

export const ok = (message = 'success'): z.infer<typeof okSchema> => ({ code: 'OK', message });

export const errorSchema = z
  .object({
    code: z.string().meta({ description: 'The text of the HTTP status.' }),
    message: z.string().meta({ description: 'What is wrong and what would do, in a sentence.' }),
    errors: z
      .array(
        z.object({
          field: z.string().meta({ description: 'As the request spells it: masterList[0].ip' }),
          value: z.unknown().optional().meta({ description: 'What stood there; never a secret.' }),
          reason: z.string().meta({ description: 'Why it cannot be, and what would do.' }),
        }),
      )
      .optional()
      .meta({ description: 'Every field that is wrong.' }),
  })
  .meta({ id: 'Error', description: 'Any answer that is no success.' });

export const clusterObject = z
  .looseObject({
    metadata: z.looseObject({}).meta({ description: 'As Kubernetes has it.' }),
    spec: z.looseObject({}).meta({ description: 'As kubectl explain ecs.spec tells.' }),
  })
  .meta({ id: 'KubernetesCluster', description: 'The object, without authConfig and managedFields.' });

export const clusterPage = z
  .object({
    items: z.array(clusterObject).meta({ description: 'In the order of namespaces and names.' }),
    continue: z.string().optional().meta({ description: 'Give it back to get the next page.' }),
    remaining: z.int().optional().meta({ description: 'About how many more there are.' }),
  })
  .meta({ id: 'KubernetesClusterList' });
