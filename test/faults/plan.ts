/** Faults of one call of the controller. */
export const CALL_FAULTS = [
  /** The controller dies before the call is sent; a new one starts. */
  'crash-before',
  /** The controller dies after the call was carried out, before it gets the response. */
  'crash-after',
  /** 409, as after a write of another client. */
  'conflict',
  /** 500, and the call was not carried out. */
  'error-before',
  /** 500, although the call was carried out. */
  'error-after',
  /** The connection breaks, although the call was carried out. */
  'lost',
  /** A read returns the version before the current one. */
  'stale',
  /** A read does not find an object that exists. */
  'absent',
  /** The watch of the written kind is delayed from this write on. */
  'lag',
] as const;

/** Faults of one run of a Job. */
export const RUN_FAULTS = [
  'job-deleted',
  'pod-killed',
  /** The pod is killed, and its remote commands continue. */
  'linger',
  /** The Job has two pods at once. */
  'double-run',
  /** The work is done, but the report never arrives. */
  'report-lost',
  /** A worker is added to the spec while the Job runs. */
  'spec-edited',
] as const;

const KINDS = [...CALL_FAULTS, ...RUN_FAULTS];
type FaultKind = (typeof KINDS)[number];

/**
 * `refused`: a creation that a host refuses; a later `create` requests it again, or `swapped` does with master and worker
 * exchanged. `mistyped`: a scale-up with an address at which no host answers; `corrected` requests it again with the same
 * node name. `cancelled`: a creation that is cancelled while it runs; `halted`: an upgrade. `relabel`: an edit of a worker's
 * label, without an operation annotation. `replace`: a worker by another host. `move`: etcd to a separate host. `repair`:
 * restores hosts that may have been changed by hand.
 */
export const STEPS = [
  'refused',
  'cancelled',
  'create',
  'swapped',
  'up',
  'mistyped',
  'corrected',
  'relabel',
  'replace',
  'move',
  'repair',
  'renew',
  'rotate',
  'update',
  'settings',
  'halted',
  'undo',
  'save',
  'restore',
  'down',
  'delete',
] as const;
/** A request of a user. */
export type Step = (typeof STEPS)[number];

/** Whether the user cancels the operation of this step while it runs. */
export const isCancelled = (step: Step): boolean => step === 'cancelled' || step === 'halted';

/** A fault, at the nth time that the controller makes that call, or that a Job runs, within a step. */
export interface Fault {
  kind: FaultKind;
  step: Step;
  /** Name of the call from `pointOf`, or `run`. */
  point: string;
  nth: number;
}

export interface Plan {
  steps: readonly Step[];
  faults: readonly Fault[];
}

const textOfFault = ({ kind, step, point, nth }: Fault): string => `${kind}@${step}:${point}:${nth}`;

/**
 * Formats a plan as one word that a shell accepts without quotes: `create+delete,crash-after@create:POST/jobs/create-X-1:1`.
 */
export const textOfPlan = ({ steps, faults }: Plan): string =>
  [steps.join('+'), ...faults.map(textOfFault)].join(',');

function isOneOf<T extends string>(list: readonly T[], text: string | undefined): text is T {
  return list.some((one) => one === text);
}

export function planFrom(text: string): Plan {
  const [head = '', ...rest] = text.trim().split(',');
  const steps = head.split('+').map((step) => {
    if (!isOneOf(STEPS, step)) throw new Error(`no step: "${step}"`);
    return step;
  });
  const faults = rest.map((part): Fault => {
    const {
      kind,
      step,
      point = '',
      nth,
    } = /^(?<kind>[a-z-]+)@(?<step>[a-z]+):(?<point>[^:]+):(?<nth>\d+)$/.exec(part)?.groups ?? {};
    if (!isOneOf(KINDS, kind) || !isOneOf(STEPS, step)) throw new Error(`no fault: "${part}"`);
    return { kind, step, point, nth: Number(nth) };
  });
  return { steps, faults };
}
