import { z } from 'zod';
import { FILE, kebab, SHORT, SWITCH } from '../../options.ts';
import { CLUSTER, clientCommand } from '../client-command.ts';
import { wrongUse } from '../failure.ts';
import type { Io } from '../io.ts';
import { duration, requestOptions } from '../options.ts';

const asked = z.object(requestOptions);
const sshHosts = (what: string) => z.string().optional().describe(`Addresses of ${what}, comma-separated`);
const drain = {
  drainTimeout: duration.optional().describe('Time for the pods of one node to leave, such as 2m'),
  force: SWITCH.default(false).describe('Also delete pods without a controller'),
  deleteEmptydirData: SWITCH.default(false).describe('Also evict pods with an emptyDir volume'),
};

const DRAIN_FLAGS = {
  'drain.timeoutSeconds': '--drain-timeout',
  'drain.force': '--force',
  'drain.deleteEmptyDirData': '--delete-emptydir-data',
} as const;

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

const changing = () => import('../change.ts');

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
export type LoadBackup = (options: object, io: Io) => Promise<void>;

/** Returns the commands that request an operation. */
export const changeCommands = (loadBackup: LoadBackup) => [
  clientCommand('create', {
    usage: '[cluster]',
    summary: 'Create a cluster',
    options: z.object({
      filename: z
        .string()
        .optional()
        .describe('File with a KubernetesCluster; "-" is standard input')
        .register(SHORT, { letter: 'f' })
        .register(FILE, {}),
      controlPlanes: sshHosts('control planes'),
      workers: sshHosts('workers'),
      sshKey: z.string().optional().describe('File with the private SSH key of the hosts').register(FILE, {}),
      credentialsSecret: z.string().optional().describe('Secret of the namespace with the SSH key, instead'),
      kubeVersion: z.string().optional().describe('Kubernetes version; default: the newest offered'),
      ...requestOptions,
    }),
    examples: [
      'matryoshka create -f cluster.yaml --ssh-key ~/.ssh/id_ed25519 --wait',
      'matryoshka create demo --control-planes 192.0.2.11 --workers 192.0.2.12,192.0.2.13 --ssh-key ~/.ssh/demo',
    ],
    run: async ([name], options, io) => (await import('../create.ts')).create(name, options, io),
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
        const { body, flags, ...change } = scaleOf(cluster, options);
        return { ...change, body: { ...body, ...drainOf(options) }, flags: { ...flags, ...DRAIN_FLAGS } };
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
        flags: { from: 'old-host', to: 'new-host', ...DRAIN_FLAGS },
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
        const flags = {
          kubeVersion: '--to',
          'upgrade.maxUnavailable': '--max-unavailable',
          'upgrade.drainWorkers': '--no-drain-workers',
          ...DRAIN_FLAGS,
        };
        return { operation: 'update', body, flags };
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
      from: z
        .string()
        .optional()
        .describe('File of "matryoshka backup"; without a cluster')
        .register(FILE, {}),
      identity: z
        .string()
        .optional()
        .describe('File with the key AGE-SECRET-KEY-1… of that backup')
        .register(FILE, {}),
      kubeconfig: z
        .string()
        .optional()
        .describe('With --from: kubeconfig of the meta cluster; default: ~/.kube/config')
        .register(FILE, {}),
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
        flags: { snapshot: '--snapshot', confirmDataLossSince: '--confirm-data-loss-since' },
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
];
