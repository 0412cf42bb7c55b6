import { z } from 'zod';

/** Answer of the kubernetes-operator routes to success. */
export const okSchema = z
  .object({
    code: z.literal('OK').meta({ description: 'The text of the HTTP status.' }),
    message: z.string().meta({ description: '"success", or the text that was asked for.' }),
  })
  .meta({
    id: 'Success',
    description: 'The request is accepted; status and log of the cluster show its result.',
  });

export const ok = (message = 'success'): z.infer<typeof okSchema> => ({ code: 'OK', message });

export const errorSchema = z
  .object({
    code: z.string().meta({ description: 'The text of the HTTP status.' }),
    message: z.string().meta({ description: 'The problem and what to do about it, in a sentence.' }),
    errors: z
      .array(
        z.object({
          field: z.string().meta({ description: 'The field as the request spells it: masterList[0].ip' }),
          value: z.unknown().optional().meta({ description: 'The value; never a secret.' }),
          reason: z.string().meta({ description: 'The reason, and what to write instead.' }),
        }),
      )
      .optional()
      .meta({ description: 'Every field that is wrong.' }),
  })
  .meta({ id: 'Error', description: 'Every answer but a success.' });

export const clusterObject = z
  .looseObject({
    metadata: z.looseObject({}).meta({ description: 'As Kubernetes has it.' }),
    spec: z.looseObject({}).meta({ description: 'See kubectl explain ecs.spec.' }),
  })
  .meta({ id: 'KubernetesCluster', description: 'The object, without authConfig and managedFields.' });

/** Example of a cluster in answers. */
export const exampleCluster = {
  apiVersion: 'ecs.yun.com/v1',
  kind: 'KubernetesCluster',
  metadata: { name: 'demo', namespace: 'default' },
  spec: { cluster: { masterList: [{ ip: '192.0.2.11' }] } },
  status: { phase: 'Running' },
};

export const snapshotList = z
  .object({
    items: z
      .array(
        z.object({
          name: z.string().meta({ description: 'Name for a restore.' }),
          createdAt: z.string().meta({ description: 'Time of the snapshot.' }),
          size: z.int().meta({ description: 'Bytes in the storage.' }),
        }),
      )
      .meta({ description: 'The newest first.' }),
    failedAt: z
      .string()
      .optional()
      .meta({ description: 'When the last snapshot failed, if none has succeeded since.' }),
  })
  .meta({ id: 'SnapshotList' });

export const clusterPage = z
  .object({
    items: z.array(clusterObject).meta({ description: 'In the order of namespaces and names.' }),
    continue: z.string().optional().meta({ description: 'Send it back to get the next page.' }),
    remaining: z.int().optional().meta({ description: 'About the number of clusters after this page.' }),
  })
  .meta({ id: 'KubernetesClusterList' });
