import { z } from 'zod';
import { CLUSTER_PATH, NO_BODY, nameSchema, namespaceSchema, strictNamespaceQuery } from './addressing.ts';
import { clusterObject, exampleCluster } from './answers.ts';
import { operationPath } from './history.ts';
import { route } from './route.ts';

/**
 * Routes that stream events. Each event has an id. A client that connects again sends the last id in `Last-Event-ID`, and
 * gets the events after it.
 */

export const watchClusters = route({
  operationId: 'watchClusters',
  method: 'GET',
  path: '/clusters/events',
  summary: 'Follow the changes of clusters',
  description:
    'Events `added`, `modified` and `deleted` have the object. First come all clusters as `added`, then `synced`. After `reset` the client forgets all clusters, since they come again. `bookmark` only has an id.',
  params: z.object({}),
  query: z.strictObject({
    namespace: namespaceSchema.optional().meta({ description: 'Default: all namespaces.' }),
    name: nameSchema.optional().meta({ description: 'Only the clusters of this name.' }),
    labelSelector: z
      .string()
      .max(4096)
      .optional()
      .meta({ description: 'Only clusters with these labels, as kubectl -l takes them.' }),
  }),
  body: NO_BODY,
  answer: clusterObject,
  isStream: true,
  lenient: false,
  errors: [],
  example: { params: {}, answer: exampleCluster },
});

const runEvent = z
  .object({
    event: z.string().meta({
      description: 'Kind: play, task, start, ok, changed, failed, unreachable, skipped, info, and others.',
    }),
    time: z.string().meta({ description: 'When (RFC 3339).' }),
    attempt: z.int().meta({ description: 'Number of the attempt.' }),
    step: z.string().optional().meta({ description: 'Step of the plan, if it begins.' }),
    task: z.string().optional().meta({ description: 'Task.' }),
    host: z.string().optional().meta({ description: 'Address of the host.' }),
    seconds: z.number().optional().meta({ description: 'Time that the task took.' }),
    message: z.string().optional().meta({ description: 'Result, or the cause of a failure.' }),
  })
  .meta({ id: 'RunEvent' });
export type RunEventAnswer = z.infer<typeof runEvent>;

export const watchOperation = route({
  operationId: 'watchOperation',
  method: 'GET',
  path: `${CLUSTER_PATH}/operations/{id}/events`,
  summary: 'Follow an operation: steps, tasks and hosts',
  description:
    'Events `run` have what the run of the operation reports, from its beginning. Event `end` has its result, and ends the stream.',
  params: operationPath,
  query: strictNamespaceQuery,
  body: NO_BODY,
  answer: runEvent,
  isStream: true,
  lenient: false,
  errors: [404],
  example: {
    params: { region: 'north', name: 'demo', id: 'b7k2m9x4qz' },
    answer: {
      event: 'ok',
      time: '2026-11-29T10:00:00.000Z',
      attempt: 1,
      task: 'worker : Join the cluster',
      host: '192.0.2.12',
      seconds: 4.2,
    },
  },
});
