import { Command } from '@commander-js/extra-typings';
import { z } from 'zod';
import { configFrom, flagsOf, kebab, SHORT, SWITCH } from '../options.ts';
import type { InspectInstallation } from './doctor.ts';
import { EXIT, wrongUse } from './failure.ts';
import type { Io } from './io.ts';
import { connectionOptions, duration, formatOption, requestOptions } from './options.ts';

/** Commands that talk to the REST API of a server. Each is imported only if it is called. */

interface ClientCommand<S extends z.ZodObject> {
  /** Arguments, such as `<cluster>`. */
  usage: string;
  summary: string;
  options: S;
  /** Lines that a user can type. */
  examples: readonly string[];
  run(args: readonly string[], options: Readonly<z.output<S>>, io: Io): Promise<void>;
}

/** Options that each command has, and that environment variables may give. */
export const CONNECTION: ReadonlySet<string> = new Set(Object.keys(connectionOptions.shape));

export const EXIT_MEANINGS: Readonly<Record<number, string>> = {
  0: 'success',
  [EXIT.failed]: 'the operation failed',
  [EXIT.usage]: 'a flag, an argument or a file is wrong',
  [EXIT.refused]: 'the server refused the request',
  [EXIT.notAllowed]: 'the token is missing, invalid, or lacks a right',
  [EXIT.unavailable]: 'no server answers, or the server cannot work',
  [EXIT.timeout]: '`--timeout` has passed; the operation goes on',
};

const examples = new WeakMap<Command, readonly string[]>();
export const examplesOf = (command: Command): readonly string[] => examples.get(command) ?? [];

const indented = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join('\n');

/** Returns a command whose action runs with the terminal of this process. */
function clientCommand<S extends z.ZodObject>(name: string, it: ClientCommand<S>): Command {
  const command = new Command(name).helpGroup('Clusters:').summary(it.summary).description(`${it.summary}.`);
  const args = it.usage.split(' ').filter((part) => part !== '');
  for (const arg of args) command.argument(arg);
  for (const option of flagsOf(it.options, CONNECTION)) command.addOption(option);
  examples.set(command, it.examples);
  const codes = Object.entries(EXIT_MEANINGS).map(
    ([code, meaning]) => `${code}  ${meaning.replaceAll('`', '')}`,
  );
  command.addHelpText('after', `\nExamples:\n${indented(it.examples)}\n\nExit codes:\n${indented(codes)}`);
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT.usage));
  const run = async (given: readonly unknown[], options: unknown) => {
    process.exitCode = EXIT.usage;
    const config = configFrom(it.options, options);
    process.exitCode = EXIT.failed;
    const { terminalIo } = await import('./terminal.ts');
    await it.run(
      given.flatMap((one) => (typeof one === 'string' ? [one] : [])),
      config,
      terminalIo(),
    );
    process.exitCode = 0;
  };
  command.action((...all: unknown[]) => run(all.slice(0, args.length), all[args.length]));
  return command;
}

const CLUSTER = '<cluster>';
const read = z.object({ ...connectionOptions.shape, ...formatOption });
const asked = z.object(requestOptions);
const sshHosts = (what: string) => z.string().optional().describe(`Addresses of ${what}, comma-separated`);
const drain = {
  drainTimeout: duration.optional().describe('Time for the pods of one node to leave, such as 2m'),
  force: SWITCH.default(false).describe('Also delete pods without a controller'),
  deleteEmptydirData: SWITCH.default(false).describe('Also evict pods with an emptyDir volume'),
};

/** Returns `drain` of a body; none if no flag is given. */
const drainOf = ({ drainTimeout, force, deleteEmptydirData }: z.output<z.ZodObject<typeof drain>>) =>
  drainTimeout === undefined && !force && !deleteEmptydirData
    ? {}
    : {
        drain: {
          ...(drainTimeout === undefined ? {} : { timeoutSeconds: drainTimeout }),
          ...(force ? { force } : {}),
          ...(deleteEmptydirData ? { deleteEmptyDirData: true } : {}),
        },
      };

const changing = () => import('./change.ts');

/** A command that requests an operation which needs nothing but the cluster. */
const plain = (operation: 'rollback' | 'snapshot' | 'renew' | 'rotate' | 'repair', summary: string) =>
  clientCommand(operation, {
    usage: CLUSTER,
    summary,
    options: asked,
    examples: [`matryoshka ${operation} demo --wait`, `matryoshka ${operation} demo --dry-run`],
    run: async ([name = ''], options, io) =>
      (await changing()).changeCluster(name, options, io, () => ({ operation })),
  });

/** Loads a backup of an installation into a new meta cluster. */
type LoadBackup = (options: object, io: Io) => Promise<void>;

/** Parts of commands that use the meta cluster itself, not the REST API. */
export interface MetaCluster {
  loadBackup: LoadBackup;
  inspect: InspectInstallation;
}

/** Returns the commands, in the order of `--help`. */
export const clientCommands = ({ loadBackup, inspect }: MetaCluster): readonly Command[] => [
  clientCommand('login', {
    usage: '',
    summary: 'Store the address of a server and your token',
    options: connectionOptions.omit({ region: true }),
    examples: [
      'kubectl create token alice | matryoshka login --server https://192.0.2.10:32443 --ca ~/.matryoshka/ca.crt',
    ],
    run: async (_args, options, io) =>
      (await import('./login.ts')).login({ ...options, region: undefined }, io),
  }),
  clientCommand('create', {
    usage: '[cluster]',
    summary: 'Create a cluster',
    options: z.object({
      filename: z
        .string()
        .optional()
        .describe('File with a KubernetesCluster; "-" is standard input')
        .register(SHORT, { letter: 'f' }),
      controlPlanes: sshHosts('control planes'),
      workers: sshHosts('workers'),
      sshKey: z.string().optional().describe('File with the private SSH key of the hosts'),
      credentialsSecret: z.string().optional().describe('Secret of the namespace with the SSH key, instead'),
      kubeVersion: z.string().optional().describe('Kubernetes version; default: the newest offered'),
      ...requestOptions,
    }),
    examples: [
      'matryoshka create -f cluster.yaml --ssh-key ~/.ssh/id_ed25519 --wait',
      'matryoshka create demo --control-planes 192.0.2.11 --workers 192.0.2.12,192.0.2.13 --ssh-key ~/.ssh/demo',
    ],
    run: async ([name], options, io) => (await import('./create.ts')).create(name, options, io),
  }),
  clientCommand('get', {
    usage: '[cluster]',
    summary: 'List clusters, or one',
    options: read.extend({
      allNamespaces: SWITCH.default(false).describe('Of all namespaces').register(SHORT, { letter: 'A' }),
    }),
    examples: ['matryoshka get -A', 'matryoshka get demo -o yaml'],
    run: async ([name], options, io) => (await import('./get.ts')).getClusters(name, options, io),
  }),
  clientCommand('describe', {
    usage: CLUSTER,
    summary: 'Show the state of a cluster, its hosts and its conditions',
    options: connectionOptions,
    examples: ['matryoshka describe demo'],
    run: async ([name = ''], options, io) => (await import('./describe.ts')).describe(name, options, io),
  }),
  clientCommand('hosts', {
    usage: '[cluster]',
    summary: 'List the hosts of a cluster, or of all clusters',
    options: read,
    examples: ['matryoshka hosts demo', 'matryoshka hosts -o wide'],
    run: async ([name], options, io) => (await import('./get.ts')).getHosts(name, options, io),
  }),
  clientCommand('history', {
    usage: CLUSTER,
    summary: 'List the last operations of a cluster',
    options: read,
    examples: ['matryoshka history demo'],
    run: async ([name = ''], options, io) => (await import('./get.ts')).getHistory(name, options, io),
  }),
  clientCommand('snapshots', {
    usage: CLUSTER,
    summary: 'List the snapshots of a cluster',
    options: read,
    examples: ['matryoshka snapshots demo'],
    run: async ([name = ''], options, io) => (await import('./get.ts')).getSnapshots(name, options, io),
  }),
  clientCommand('scale', {
    usage: CLUSTER,
    summary: 'Add hosts to a cluster, or remove hosts',
    options: z.object({
      addWorkers: sshHosts('new workers'),
      addControlPlanes: sshHosts('new control planes'),
      addEtcd: sshHosts('new hosts of external etcd'),
      remove: sshHosts('hosts that leave'),
      ...drain,
      ...requestOptions,
    }),
    examples: [
      'matryoshka scale demo --add-workers 192.0.2.13,192.0.2.14 --wait',
      'matryoshka scale demo --remove 192.0.2.13 --dry-run',
    ],
    run: async ([name = ''], options, io) => {
      const { changeCluster, scaleOf } = await changing();
      const { drain: settings } = drainOf(options);
      if (settings !== undefined && options.remove === undefined)
        throw wrongUse('--drain-timeout, --force and --delete-emptydir-data: are only for --remove');
      await changeCluster(name, options, io, (cluster) => {
        const { operation, body, danger } = scaleOf(cluster, options);
        return {
          operation,
          body: { ...body, ...drainOf(options) },
          danger,
        };
      });
    },
  }),
  clientCommand('replace', {
    usage: '<cluster> <old-host> <new-host>',
    summary: 'Put a host in the place of another, dead or alive',
    options: z.object({ ...drain, ...requestOptions }),
    examples: ['matryoshka replace demo 192.0.2.12 192.0.2.14 --wait'],
    run: async ([name = '', from = '', to = ''], options, io) =>
      (await changing()).changeCluster(name, options, io, () => ({
        operation: 'replace',
        body: { from, to: { ip: to }, ...drainOf(options) },
        danger: `${from} will be removed from cluster ${name} and reset`,
      })),
  }),
  clientCommand('upgrade', {
    usage: CLUSTER,
    summary: 'Upgrade Kubernetes',
    options: z.object({
      to: z.string({ error: 'is missing; name a version such as v1.35.4' }).describe('Kubernetes version'),
      maxUnavailable: z.coerce
        .number({ error: 'is not a number' })
        .int('is not a whole number')
        .optional()
        .describe('Number of workers at once; default: as the cluster has it'),
      drainWorkers: SWITCH.default(true).describe('Do not drain workers before their upgrade'),
      ...drain,
      ...requestOptions,
    }),
    examples: [
      'matryoshka upgrade demo --to v1.35.4 --dry-run',
      'matryoshka upgrade demo --to v1.35.4 --wait',
    ],
    run: async ([name = ''], options, io) =>
      (await changing()).changeCluster(name, options, io, () => {
        const { to: kubeVersion, maxUnavailable, drainWorkers } = options;
        const upgrade = {
          ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
          ...(drainWorkers ? {} : { drainWorkers }),
        };
        const hasUpgrade = Object.keys(upgrade).length > 0;
        const body = { kubeVersion, ...(hasUpgrade ? { upgrade } : {}), ...drainOf(options) };
        return { operation: 'update', body };
      }),
  }),
  plain('rollback', 'Undo an unfinished upgrade'),
  plain('snapshot', 'Save a snapshot of etcd'),
  clientCommand('restore', {
    usage: '[cluster]',
    summary: 'Restore a cluster from a snapshot, or with --from an installation from a backup',
    options: z.object({
      snapshot: z.string().optional().describe('Name of the snapshot, from "matryoshka snapshots"'),
      confirmDataLossSince: z
        .string()
        .optional()
        .describe('The time of the snapshot, or an earlier one: later writes are lost'),
      from: z.string().optional().describe('File of "matryoshka backup"; without a cluster'),
      identity: z.string().optional().describe('File with the key AGE-SECRET-KEY-1… of that backup'),
      kubeconfig: z
        .string()
        .optional()
        .describe('With --from: kubeconfig of the meta cluster; default: ~/.kube/config'),
      operatorNamespace: z
        .string()
        .optional()
        .describe('With --from: namespace of the operator; default: matryoshka-system'),
      ...requestOptions,
    }),
    examples: [
      'matryoshka restore demo --snapshot 20261129t020000z-7 --confirm-data-loss-since 2026-11-29T02:00:00Z',
      'matryoshka restore --from installation.age --identity key.txt --kubeconfig meta.kubeconfig',
    ],
    run: async ([name], options, io) => {
      const { snapshot, confirmDataLossSince, from } = options;
      if (name === undefined) {
        if (from === undefined)
          throw wrongUse('there is no cluster; name one, or give the file of an installation with --from');
        const { identity, kubeconfig, operatorNamespace, ...others } = options;
        const wrong = Object.entries({ ...others, from: undefined }).find(
          ([, value]) => value !== undefined && value !== false,
        );
        if (wrong)
          throw wrongUse(`--${kebab(wrong[0])}: is for the restore of a cluster; with --from, leave it out`);
        await loadBackup({ from, identity, kubeconfig, operatorNamespace }, io);
        return;
      }
      if (from !== undefined)
        throw wrongUse(
          `--from: is the backup of an installation; leave cluster ${name} out, or name a --snapshot`,
        );
      await (await changing()).changeCluster(name, options, io, () => ({
        operation: 'restore',
        body: { snapshot, confirmDataLossSince },
        danger: `everything that was written to the API of cluster ${name} since ${confirmDataLossSince ?? 'the snapshot'} will be lost`,
      }));
    },
  }),
  plain('renew', 'Renew certificates'),
  plain('rotate', 'Replace the keys that sign tokens and encrypt Secrets'),
  plain('repair', 'Put back what was changed on hosts by hand'),
  clientCommand('delete', {
    usage: CLUSTER,
    summary: 'Delete a cluster and reset its hosts',
    options: asked,
    examples: ['matryoshka delete demo --wait'],
    run: async ([name = ''], options, io) => {
      const { changeCluster, deletionDanger } = await changing();
      await changeCluster(name, options, io, () => ({
        operation: 'delete',
        danger: deletionDanger(name),
      }));
    },
  }),
  clientCommand('retry', {
    usage: CLUSTER,
    summary: 'Repeat the operation that failed',
    options: asked,
    examples: ['matryoshka retry demo --wait'],
    run: async ([name = ''], options, io) => {
      const { changeCluster, retryOf } = await changing();
      await changeCluster(name, options, io, retryOf);
    },
  }),
  clientCommand('plan', {
    usage: CLUSTER,
    summary: 'Show the plan of a dry run that waits for an approval',
    options: connectionOptions,
    examples: ['matryoshka plan demo'],
    run: async ([name = ''], options, io) => (await import('./plan.ts')).showPlan(name, options, io),
  }),
  clientCommand('approve', {
    usage: CLUSTER,
    summary: 'Approve the plan of a dry run, which starts its operation',
    options: connectionOptions.extend({
      hash: z.string().optional().describe('Hash of the plan that you approve; default: the one that waits'),
      yes: SWITCH.default(false).describe('Do not ask').register(SHORT, { letter: 'y' }),
    }),
    examples: ['matryoshka approve demo'],
    run: async ([name = ''], options, io) => (await import('./plan.ts')).approve(name, options, io),
  }),
  clientCommand('cancel', {
    usage: CLUSTER,
    summary: 'Cancel the running operation',
    options: connectionOptions.extend({
      id: z.string().optional().describe('Id of the operation; default: the running one'),
    }),
    examples: ['matryoshka cancel demo'],
    run: async ([name = ''], options, io) =>
      (await import('./steer.ts')).cancel(name, options.id, options, io),
  }),
  clientCommand('pause', {
    usage: CLUSTER,
    summary: 'Let no new operation start',
    options: connectionOptions,
    examples: ['matryoshka pause demo'],
    run: async ([name = ''], options, io) => (await import('./steer.ts')).setPaused(name, true, options, io),
  }),
  clientCommand('resume', {
    usage: CLUSTER,
    summary: 'Let operations of a paused cluster start',
    options: connectionOptions,
    examples: ['matryoshka resume demo'],
    run: async ([name = ''], options, io) => (await import('./steer.ts')).setPaused(name, false, options, io),
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
      (await import('./logs.ts')).printLogs(name, { ...options, isFollowed: options.follow }, io),
  }),
  clientCommand('kubeconfig', {
    usage: CLUSTER,
    summary: 'Print a kubeconfig of the administrator, or with --expires one of your own',
    options: connectionOptions.extend({
      expires: duration
        .optional()
        .describe('A kubeconfig for your own name, valid for this time, such as 8h'),
      to: z.string().optional().describe('File that it is written into; default: standard output'),
    }),
    examples: ['matryoshka kubeconfig demo --to demo.kubeconfig', 'matryoshka kubeconfig demo --expires 8h'],
    run: async ([name = ''], options, io) =>
      (await import('./kubeconfig.ts')).fetchKubeconfig(name, options, io),
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
        .describe('Kubeconfig of the meta cluster, to check the installation too'),
      operatorNamespace: z.string().default('matryoshka-system').describe('Namespace of the operator'),
    }),
    examples: ['matryoshka doctor', 'matryoshka doctor -A --kubeconfig ~/.matryoshka/meta.kubeconfig'],
    run: async (_args, options, io) => (await import('./doctor.ts')).doctor(options, io, inspect),
  }),
];
