import { z } from 'zod';
import { FILE, SHORT, SWITCH } from '../../options.ts';
import { CLUSTER, clientCommand } from '../client-command.ts';
import type { InspectInstallation } from '../doctor.ts';
import { connectionOptions, duration, formatOption } from '../options.ts';

const read = z.object({ ...connectionOptions.shape, ...formatOption });

/** Returns the commands that change nothing. */
export const readCommands = (inspect: InspectInstallation) => [
  clientCommand('get', {
    usage: '[cluster]',
    summary: 'List clusters, or one',
    options: read.extend({
      allNamespaces: SWITCH.default(false).describe('Of all namespaces').register(SHORT, { letter: 'A' }),
    }),
    examples: ['matryoshka get -A', 'matryoshka get demo -o yaml'],
    run: async ([name], options, io) => (await import('../get.ts')).getClusters(name, options, io),
  }),
  clientCommand('describe', {
    usage: CLUSTER,
    summary: 'Show the state of a cluster, its hosts and its conditions',
    options: connectionOptions,
    examples: ['matryoshka describe demo'],
    run: async ([name = ''], options, io) => (await import('../describe.ts')).describe(name, options, io),
  }),
  clientCommand('hosts', {
    usage: '[cluster]',
    summary: 'List the hosts of a cluster, or of all clusters',
    options: read,
    examples: ['matryoshka hosts demo', 'matryoshka hosts -o wide'],
    run: async ([name], options, io) => (await import('../get.ts')).getHosts(name, options, io),
  }),
  clientCommand('history', {
    usage: CLUSTER,
    summary: 'List the last operations of a cluster',
    options: read,
    examples: ['matryoshka history demo'],
    run: async ([name = ''], options, io) => (await import('../get.ts')).getHistory(name, options, io),
  }),
  clientCommand('snapshots', {
    usage: CLUSTER,
    summary: 'List the snapshots of a cluster',
    options: read,
    examples: ['matryoshka snapshots demo'],
    run: async ([name = ''], options, io) => (await import('../get.ts')).getSnapshots(name, options, io),
  }),
  clientCommand('kubeconfig', {
    usage: CLUSTER,
    summary: 'Print a kubeconfig of the administrator, or with --expires one of your own',
    options: connectionOptions.extend({
      expires: duration
        .optional()
        .describe('A kubeconfig for your own name, valid for this time, such as 8h'),
      to: z
        .string()
        .optional()
        .describe('File that it is written into; default: standard output')
        .register(FILE, {}),
    }),
    examples: ['matryoshka kubeconfig demo --to demo.kubeconfig', 'matryoshka kubeconfig demo --expires 8h'],
    run: async ([name = ''], options, io) =>
      (await import('../kubeconfig.ts')).fetchKubeconfig(name, options, io),
  }),
  clientCommand('doctor', {
    usage: '',
    summary: 'Find problems of clusters and of the installation, each with its fix',
    options: connectionOptions.extend({
      allNamespaces: SWITCH.default(false)
        .describe('Clusters of all namespaces')
        .register(SHORT, { letter: 'A' }),
      kubeconfig: z
        .string()
        .optional()
        .describe('Kubeconfig of the meta cluster, to check the installation too')
        .register(FILE, {}),
      operatorNamespace: z.string().default('matryoshka-system').describe('Namespace of the operator'),
    }),
    examples: ['matryoshka doctor', 'matryoshka doctor -A --kubeconfig ~/.matryoshka/meta.kubeconfig'],
    run: async (_args, options, io) => (await import('../doctor.ts')).doctor(options, io, inspect),
  }),
];
