import type { HostRecord, HostRecordStatus } from '#api/host-record.ts';
import { stateOf } from '#api/host-record.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { Operation } from '#operations/operation.ts';
import type { StepPlan } from '#operations/plan-for.ts';
import { CANCELLED, type HostReport, type Report } from '#protocol/report.ts';

type Attempt = Pick<OperationStatus, 'sequence' | 'attempt'>;

/** Returns the status of a host that this attempt is the first to remove. */
export const leavingBy = ({ sequence, attempt }: Attempt): HostRecordStatus => ({
  state: 'Leaving',
  leavingBy: { sequence, attempt },
});

/** Host results that a run may have while the hosts that are to leave are still unchanged. */
const HARMLESS = ['taken', 'prepared', 'left'];

/**
 * Whether a host that a failed run was to remove is unchanged. This attempt must be the first that was to remove it, and its
 * report must show no step that removes a host. A host that an earlier attempt began to remove counts as changed.
 */
export function wasLeftAsItWas(
  { planning }: Operation,
  attempt: Attempt | undefined,
  record: HostRecord,
  host: HostReport,
  { hosts, steps, reason, cutShort }: Report,
): boolean {
  const by = record.status?.leavingBy;
  if (stateOf(record) !== 'Leaving' || !attempt || !by || !steps) return false;
  if (by.sequence !== attempt.sequence || by.attempt !== attempt.attempt) return false;
  const cutOff = reason === CANCELLED || cutShort === true;
  const counts = (step: StepPlan) => step.takesOut === 'begun' || (step.takesOut === 'cut off' && cutOff);
  const takesOut = new Set(planning.steps.filter(counts).map(({ name }) => name));
  return (
    !steps.some((step) => takesOut.has(step)) &&
    host.did.every((result) => result === 'taken') &&
    hosts.every(({ did }) => did.every((result) => HARMLESS.includes(result)))
  );
}
