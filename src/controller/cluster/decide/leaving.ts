import type { HostRecord, HostRecordStatus } from '#api/host-record.ts';
import { stateOf } from '#api/host-record.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { Operation } from '#operations/operation.ts';
import type { StepPlan } from '#operations/plan-for.ts';
import { CANCELLED, type HostReport, type Report } from '#protocol/report.ts';

type Attempt = Pick<OperationStatus, 'sequence' | 'attempt'>;

/** A host that an attempt is the first to take out. */
export const leavingBy = ({ sequence, attempt }: Attempt): HostRecordStatus => ({
  state: 'Leaving',
  leavingBy: { sequence, attempt },
});

/** What the hosts of a run may have done while those that are to leave are still what they were. */
const HARMLESS = ['taken', 'prepared', 'left'];

/**
 * Whether a host that a failed run was to take out is what it was before: this attempt is the first that was to, and by
 * its report the attempt came to nothing that takes a host out. One that an earlier attempt began to take out is not.
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
