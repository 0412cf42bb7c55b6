import { type HostRecord, stateOf } from '#api/host-record.ts';
import type { ClusterStatus, OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import type { Stall } from '../outcome.ts';
import type { Next } from './next.ts';

/** The user's next action for a stall, by its reason; for other reasons the message is shown. */
const TO_DO: Readonly<Record<string, string>> = {
  NeedsConfirmation: 'confirm the change',
  NotOffered: 'take the change back',
  InvalidSpec: 'correct the spec',
  Paused: 'paused',
  DryRun: 'only planned',
  PlanChanged: 'plan it anew, then agree to that',
  CredentialsMissing: 'make the Secret, with ssh-privatekey or password',
  CredentialsInvalid: 'correct the Secret with the credentials',
  NamespaceNotServed: 'let the operator serve the namespace',
  SecretConflict: 'move the Secret of another owner away',
  RunBlocked: 'its pod cannot start',
  Denied: 'lift what denies the operator',
  KubeconfigMissing: 'fetching the kubeconfig',
};
const LONGEST = 120;

/** Returns how to request the same operation again. A deletion has no operation annotation. */
const again = ({ name, word }: OperationStatus): string =>
  name === 'delete' ? 'set a new request-id' : `set "${word}" and a new request-id`;

function toDo(stalled: Stall, operation: OperationStatus | undefined, reason: string): string {
  if (operation && stalled.reason === 'OperationFailed')
    return `${operation.name} failed: ${reason}: read the message, then ${again(operation)}`;
  if (operation && stalled.reason === 'Cancelled')
    return `${operation.name} cancelled: ${again(operation)} to go on`;
  return `${stalled.reason}: ${TO_DO[stalled.reason] ?? stalled.message}`;
}

/** Returns a short text about what is under way, or what the user must do: one column of `kubectl get`. */
export function summaryOf(
  { operation, phase, reason }: Next,
  {
    doing,
    stalled,
    hosts,
    created,
    ailment,
  }: {
    /** The work of the operation under way. */
    doing: string | undefined;
    stalled: Stall | undefined;
    hosts: readonly HostRecord[];
    created: boolean;
    /** The first failing condition, if the cluster is probed. */
    ailment: string | undefined;
  },
): string {
  if (stalled) return toDo(stalled, operation, reason).slice(0, LONGEST);
  if (doing !== undefined) return doing.slice(0, LONGEST);
  if (ailment !== undefined && created) return `${phase}; ${ailment}`.slice(0, LONGEST);
  const unclean = hosts.filter((host) => ['Unclean', 'Lost'].includes(stateOf(host))).length;
  if (operation?.result === 'failed' && phase === 'Failed')
    return `${operation.name} failed: ${reason}: read the message, then ${again(operation)}`.slice(
      0,
      LONGEST,
    );
  if (operation?.name === 'snapshot' && operation.result === 'failed')
    return `${phase}; snapshot failed: ${reason}`.slice(0, LONGEST);
  if (unclean > 0) return `${unclean} ${unclean === 1 ? 'host needs' : 'hosts need'} cleaning`;
  return phase === '' && !created
    ? `not asked for yet: annotate ${annotations.operation}=${OPERATION_VALUES.create.asked}`
    : phase;
}

/** Most hosts that status lists. */
const MAX_HOSTS = 100;

/** Returns the hosts that need attention. A cluster has up to a thousand hosts, and its status must stay small. */
export const attention = (hosts: readonly HostRecord[]): NonNullable<ClusterStatus['hosts']> =>
  hosts
    .filter((host) => stateOf(host) !== 'Joined')
    .slice(0, MAX_HOSTS)
    .map((host) => {
      const message = host.status?.lastRun?.message;
      return { ip: host.spec.ip, state: stateOf(host), ...(message === undefined ? {} : { message }) };
    });

export function countsOf(hosts: readonly HostRecord[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const host of hosts) counts[stateOf(host)] = (counts[stateOf(host)] ?? 0) + 1;
  return counts;
}
