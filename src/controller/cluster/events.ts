import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import type { Outcome } from './decide/outcome.ts';
import { remediationEvents } from './decide/rest/remediation.ts';
import { healthEvents } from './decide/status/health.ts';

/** Emits the Events of a status that was written. */
export function emitEvents(
  event: (type: 'Normal' | 'Warning', reason: string, message: string) => void,
  before: KubernetesCluster,
  cluster: KubernetesCluster,
  outcome: Outcome,
  accepted?: OperationStatus,
): void {
  for (const { type, reason, message } of healthEvents(before.status?.conditions, cluster.status?.conditions))
    event(type, reason, message);
  for (const { reason, message } of remediationEvents(before.status?.conditions, cluster.status?.conditions))
    event('Warning', reason, message);
  if (accepted) event('Normal', 'Accepted', `${accepted.word}, sequence ${accepted.sequence}`);
  if (outcome.kind === 'move') event('Normal', cluster.status?.phase ?? '', outcome.because);
  if (outcome.kind === 'end' && outcome.result === 'finished')
    event('Normal', 'Finished', `${cluster.status?.operation?.name} is done`);
  if (outcome.kind === 'end' && outcome.result !== 'finished') {
    const type = outcome.result === 'cancelled' ? 'Normal' : 'Warning';
    event(type, outcome.reason, outcome.message);
  }
  if ('stall' in outcome && outcome.stall) {
    // A finished dry run is no problem, so its stall is no warning.
    const type = outcome.stall.reason === 'DryRun' ? 'Normal' : 'Warning';
    event(type, outcome.stall.reason, outcome.stall.message);
  }
}
