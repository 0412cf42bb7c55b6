import { type HostRecord, stateOf } from '#api/host-record.ts';
import { annotations } from '#api/names.ts';
import { WORDS } from '#api/words.ts';
import type { Stall } from './outcome.ts';
import type { Next } from './status.ts';

/** What a person must do about a stall, by its reason; of others the reason is all that fits. */
const TO_DO: Readonly<Record<string, string>> = {
  NeedsConfirmation: 'confirm the change',
  NotOffered: 'take the change back',
  InvalidSpec: 'correct the spec',
  IdentityConflict: 'remove the copied cluster-id',
  Paused: 'paused',
  DryRun: 'only planned',
  PlanChanged: 'plan it anew, then agree to that',
  CredentialsMissing: 'make the Secret with the credentials',
  CredentialsInvalid: 'correct the Secret with the credentials',
  NamespaceNotServed: 'let the operator serve the namespace',
  SecretConflict: "move somebody else's Secret away",
  OperationFailed: 'look at the message, then ask again',
  Cancelled: 'ask again to go on',
  RunBlocked: 'its pod cannot start',
  Denied: 'lift what denies the operator',
  KubeconfigMissing: 'fetching the kubeconfig',
};
const LONGEST = 120;

/** In a few words what goes on, or what a person must do: one column of `kubectl get`. */
export function summaryOf(
  { operation, phase, reason }: Next,
  {
    doing,
    stalled,
    hosts,
    created,
    ailment,
  }: {
    /** What the operation under way does. */
    doing: string | undefined;
    stalled: Stall | undefined;
    hosts: readonly HostRecord[];
    created: boolean;
    /** What is not well with the cluster, as far as it is looked at. */
    ailment: string | undefined;
  },
): string {
  if (stalled) {
    const what =
      stalled.reason === 'OperationFailed'
        ? `${operation?.name} failed: ${reason}`
        : stalled.reason === 'Cancelled'
          ? `${operation?.name} cancelled`
          : stalled.reason;
    return `${what}: ${TO_DO[stalled.reason] ?? stalled.message}`.slice(0, LONGEST);
  }
  if (doing !== undefined) return doing.slice(0, LONGEST);
  if (ailment !== undefined && created) return `${phase}; ${ailment}`.slice(0, LONGEST);
  const unclean = hosts.filter((host) => ['Unclean', 'Lost'].includes(stateOf(host))).length;
  if (unclean > 0) return `${unclean} ${unclean === 1 ? 'host needs' : 'hosts need'} cleaning`;
  return phase === '' && !created
    ? `not asked for yet: annotate ${annotations.operation}=${WORDS.create.asked}`
    : phase;
}
