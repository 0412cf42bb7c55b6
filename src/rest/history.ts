import { z } from 'zod';
import { OPERATION_NAMES } from '#api/operation-values.ts';
import { CLUSTER_PATH, clusterPath, NO_BODY, strictNamespaceQuery } from './addressing.ts';
import { okSchema } from './answers.ts';
import { route } from './route.ts';

/** Routes that read the records of operations, of which `spec.history` are kept. */

const operationId = z.string().regex(/^[a-z0-9-]{1,36}$/, {
  error: 'is not the id of an operation or of its request; write it as status.operation.id',
});

const RESULTS = ['running', 'finished', 'failed', 'cancelled'] as const;

const operationSchema = z
  .object({
    id: z.string().meta({ description: 'Its id, as status.operation.id.' }),
    operation: z.enum(OPERATION_NAMES).meta({ description: 'Its name.' }),
    sequence: z.int().meta({ description: 'Its number in the life of the cluster.' }),
    result: z.enum(RESULTS).meta({ description: 'Its result; "running" until it ends.' }),
    requestId: z
      .string()
      .optional()
      .meta({ description: 'Id of its request, as the answer to the request has it.' }),
    requestedBy: z.string().optional().meta({ description: 'User who requested it, if that is known.' }),
    cancelledBy: z.string().optional().meta({ description: 'User who cancelled it.' }),
    startedAt: z.string().meta({ description: 'When it began (RFC 3339).' }),
    endedAt: z.string().optional().meta({ description: 'When it ended.' }),
    attempt: z.int().meta({ description: 'Number of its attempts.' }),
    message: z.string().optional().meta({ description: 'Why it failed.' }),
  })
  .meta({ id: 'Operation' });
export type OperationAnswer = z.infer<typeof operationSchema>;

const counts = z.record(z.string(), z.int());

/** An operation with all that its record has. */
export const recordedOperation = operationSchema.extend({
  plan: z
    .object({
      hosts: z
        .union([z.array(z.object({ ip: z.string(), action: z.string() })), counts])
        .meta({ description: 'Hosts with their action; counts if there are more than 200 hosts.' }),
      steps: z
        .array(
          z.object({
            name: z.string().meta({ description: 'Its name.' }),
            hosts: z
              .union([z.array(z.string()), z.int()])
              .meta({ description: 'Addresses of its hosts; their number if there are more than 200.' }),
          }),
        )
        .meta({ description: 'Steps in order.' }),
    })
    .optional()
    .meta({ description: 'The plan that it carried out.' }),
  hosts: z
    .union([z.array(z.object({ ip: z.string(), ok: z.boolean(), did: z.array(z.string()) })), counts])
    .optional()
    .meta({ description: 'Result of each host; numbers if there are more than 200.' }),
  difference: z.array(z.string()).optional().meta({ description: 'Differences between plan and result.' }),
});
export type RecordedOperation = z.infer<typeof recordedOperation>;

const detailSchema = recordedOperation
  .extend({
    result: z.enum([...RESULTS, 'waiting']).meta({
      description: 'Its result; "running" until it ends, "waiting" until it begins.',
    }),
    startedAt: z.string().optional().meta({ description: 'When it began (RFC 3339).' }),
  })
  .meta({ id: 'OperationDetail' });
export type OperationDetail = z.infer<typeof detailSchema>;

const params = { region: 'north', name: 'demo' };
const example: OperationAnswer = {
  id: 'b7k2m9x4qz',
  operation: 'scale-up',
  sequence: 2,
  result: 'finished',
  requestId: '5f0c3f0e-9d1c-4e0a-8a3e-6f5b8c1d2e3f',
  requestedBy: 'system:serviceaccount:default:alice',
  startedAt: '2026-11-29T10:00:00.000Z',
  endedAt: '2026-11-29T10:01:30.000Z',
  attempt: 1,
};
const base = { method: 'GET', query: strictNamespaceQuery, body: NO_BODY, lenient: false } as const;

export const listOperations = route({
  ...base,
  operationId: 'listOperations',
  path: `${CLUSTER_PATH}/operations`,
  summary: 'List the operations of a cluster',
  description: 'The operations whose records are kept (spec.history), the newest first.',
  params: clusterPath,
  answer: z
    .object({ items: z.array(operationSchema).meta({ description: 'The newest first.' }) })
    .meta({ id: 'OperationList' }),
  errors: [404],
  example: { params, answer: { items: [example] } },
});

/** Path of an operation. */
export const operationPath = clusterPath.extend({
  id: operationId.meta({ description: 'Id of the operation, as status.operation.id, or of its request.' }),
});

export const getOperation = route({
  ...base,
  operationId: 'getOperation',
  path: `${CLUSTER_PATH}/operations/{id}`,
  summary: 'Look at an operation: its plan, and the result of each host',
  description: 'The record of an operation that waits, runs or has ended.',
  params: operationPath,
  answer: detailSchema,
  errors: [404],
  example: {
    params: { ...params, id: example.id },
    answer: {
      ...example,
      plan: {
        hosts: [{ ip: '192.0.2.12', action: 'join' }],
        steps: [{ name: 'Join hosts', hosts: ['192.0.2.12'] }],
      },
      hosts: [{ ip: '192.0.2.12', ok: true, did: ['joined'] }],
      difference: [],
    },
  },
});

export const getOperationLog = route({
  ...base,
  operationId: 'getOperationLog',
  path: `${CLUSTER_PATH}/operations/{id}/logs`,
  summary: 'The log of an operation',
  description: 'Its last MiB, in the envelope. `GET …/logs` follows the one that runs.',
  params: operationPath,
  answer: okSchema,
  errors: [404],
  example: {
    params: { ...params, id: example.id },
    answer: { code: 'OK', message: '10:00:00  node-1  Join  ok  1.2 s\n' },
  },
});
