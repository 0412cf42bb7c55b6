import { z } from 'zod';
import { SHORT, SWITCH } from '../../options.ts';
import { CLUSTER, clientCommand } from '../client-command.ts';
import { connectionOptions, requestOptions } from '../options.ts';

/** Commands that show or steer an operation which was requested before. */
export const operationCommands = () => [
  clientCommand('plan', {
    usage: CLUSTER,
    summary: 'Show the plan of a dry run that waits for an approval',
    options: connectionOptions,
    examples: ['matryoshka plan demo'],
    run: async ([name = ''], options, io) => (await import('../plan.ts')).showPlan(name, options, io),
  }),
  clientCommand('approve', {
    usage: CLUSTER,
    summary: 'Approve the plan of a dry run, which starts its operation',
    options: connectionOptions.extend({
      hash: z.string().optional().describe('Hash of the plan that you approve; default: the one that waits'),
      yes: SWITCH.default(false).describe('Do not ask').register(SHORT, { letter: 'y' }),
    }),
    examples: ['matryoshka approve demo'],
    run: async ([name = ''], options, io) => (await import('../plan.ts')).approve(name, options, io),
  }),
  clientCommand('logs', {
    usage: CLUSTER,
    summary: 'Print the log of the last operation, or of a former one',
    options: connectionOptions.extend({
      follow: SWITCH.default(false).describe('Until the operation ends').register(SHORT, { letter: 'f' }),
      operation: z.string().optional().describe('Id of a former operation, from "matryoshka history"'),
    }),
    examples: ['matryoshka logs -f demo', 'matryoshka logs demo --operation b7k2m9x4qz'],
    run: async ([name = ''], options, io) =>
      (await import('../logs.ts')).printLogs(name, { ...options, isFollowed: options.follow }, io),
  }),
  clientCommand('cancel', {
    usage: CLUSTER,
    summary: 'Cancel the running operation',
    options: connectionOptions.extend({
      id: z.string().optional().describe('Id of the operation; default: the running one'),
    }),
    examples: ['matryoshka cancel demo'],
    run: async ([name = ''], options, io) =>
      (await import('../steer.ts')).cancel(name, options.id, options, io),
  }),
  clientCommand('retry', {
    usage: CLUSTER,
    summary: 'Repeat the operation that failed',
    options: z.object(requestOptions),
    examples: ['matryoshka retry demo --wait'],
    run: async ([name = ''], options, io) => {
      const { changeCluster, retryOf } = await import('../change.ts');
      await changeCluster(name, options, io, retryOf);
    },
  }),
  clientCommand('pause', {
    usage: CLUSTER,
    summary: 'Let no new operation start',
    options: connectionOptions,
    examples: ['matryoshka pause demo'],
    run: async ([name = ''], options, io) => (await import('../steer.ts')).setPaused(name, true, options, io),
  }),
  clientCommand('resume', {
    usage: CLUSTER,
    summary: 'Let operations of a paused cluster start',
    options: connectionOptions,
    examples: ['matryoshka resume demo'],
    run: async ([name = ''], options, io) =>
      (await import('../steer.ts')).setPaused(name, false, options, io),
  }),
];
