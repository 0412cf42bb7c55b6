import { z } from 'zod';
import { addressed, agreedPlan, CLUSTER_PATH, clusterPath, strictAskingQuery } from './addressing.ts';
import { okSchema } from './answers.ts';
import { route } from './route.ts';

/** Routes that control the present or the next operation; none of them requests one. */

const base = { method: 'POST', params: clusterPath, query: strictAskingQuery, lenient: false } as const;
const params = { region: 'north', name: 'demo' };
const DRY_RUN = 'With `dryRun=All` nothing is written.';

const cancelAnswer = okSchema.extend({
  operation: z
    .object({
      id: z.string().meta({ description: 'Its id, as status.operation.id.' }),
      name: z.string().meta({ description: 'Its name.' }),
      step: z.string().meta({ description: 'The step that it is at.' }),
    })
    .meta({ description: 'The operation that stops.' }),
});

export const cancelOperation = route({
  ...base,
  operationId: 'cancelOperation',
  path: `${CLUSTER_PATH}/cancel`,
  summary: 'Cancel the operation under way',
  description: `The run stops between two tasks and reports each host; the next operation continues from there. A deletion cannot be cancelled. Cancelling again is no error. ${DRY_RUN}`,
  body: z
    .strictObject({
      ...addressed,
      id: z
        .string()
        .max(63)
        .optional()
        .meta({ description: 'Id of the operation, as status.operation.id; default: the one under way.' }),
    })
    .optional()
    .meta({ id: 'CancelOperation' }),
  status: 202,
  answer: cancelAnswer,
  errors: [404, 409, 412, 413],
  example: {
    params,
    body: { id: 'b7k2m9x4qz' },
    answer: {
      code: 'OK',
      message: 'success',
      operation: { id: 'b7k2m9x4qz', name: 'scale-up', step: 'Join hosts' },
    },
  },
});

export const approvePlan = route({
  ...base,
  operationId: 'approvePlan',
  path: `${CLUSTER_PATH}/approve`,
  summary: 'Approve the plan of a dry run',
  description: `Removes the annotation ecs.yun.com/dry-run, so that the planned operation begins, if its plan is still the same. 409 if no plan waits, or if it is refused. ${DRY_RUN}`,
  body: z
    .strictObject({
      ...addressed,
      ...agreedPlan,
    })
    .optional()
    .meta({ id: 'ApprovePlan' }),
  answer: okSchema.extend({
    plan: z.string().meta({ description: 'Hash of the plan that is approved.' }),
    operation: z.string().meta({ description: 'Name of its operation.' }),
  }),
  errors: [404, 409, 412, 413],
  example: {
    params,
    body: {},
    answer: { code: 'OK', message: 'success', plan: 'a'.repeat(64), operation: 'scale-down' },
  },
});

const pauseAnswer = okSchema.extend({
  paused: z.boolean().meta({ description: 'Whether the cluster is paused, or would be.' }),
});

const pausing = (operationId: string, verb: string, paused: boolean, summary: string, description: string) =>
  route({
    ...base,
    operationId,
    path: `${CLUSTER_PATH}/${verb}`,
    summary,
    description: `${description} Asking again is no error. ${DRY_RUN}`,
    body: z.strictObject(addressed).optional(),
    answer: pauseAnswer,
    errors: [404, 409, 412, 413],
    example: { params, body: {}, answer: { code: 'OK', message: 'success', paused } },
  });

export const pauseCluster = pausing(
  'pauseCluster',
  'pause',
  true,
  'Pause a cluster',
  'What runs finishes; nothing new starts, deletion included.',
);

export const resumeCluster = pausing(
  'resumeCluster',
  'resume',
  false,
  'Resume a paused cluster',
  'What was asked meanwhile starts.',
);
