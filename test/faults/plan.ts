/** What may go wrong at one call of the controller. */
export const CALL_FAULTS = [
  /** The controller dies before the call is sent; a new one starts. */
  'crash-before',
  /** It dies when the call was carried out, before it learns so. */
  'crash-after',
  /** 409, as when somebody else has written meanwhile. */
  'conflict',
  /** 500, and nothing was done. */
  'error-before',
  /** 500, though it was done. */
  'error-after',
  /** The connection breaks, though it was done. */
  'lost',
  /** A read shows the version before the present one. */
  'stale',
  /** A read does not show what is there. */
  'absent',
  /** The watch of the written kind falls behind from this write on. */
  'lag',
] as const;

/** What may go wrong with one run of a Job. */
export const RUN_FAULTS = [
  'job-deleted',
  'pod-killed',
  /** The pod is killed, and its remote commands run on. */
  'linger',
  /** The pod is started twice. */
  'double-run',
  /** The work is done, and the report never arrives. */
  'report-lost',
  /** A worker is added to the spec while the Job runs. */
  'spec-edited',
] as const;

const KINDS = [...CALL_FAULTS, ...RUN_FAULTS];
type FaultKind = (typeof KINDS)[number];

/**
 * `refused`: a creation that a host refuses, which a later `create` asks for again, or `swapped` with master and worker
 * in each other's place. `mistyped`: a scale-up by an address at which nobody answers, which `corrected` asks for again
 * under the same node name. `cancelled`: a creation that is cancelled while it runs. `relabel`: another label of a worker, as an edit without a word.
 * `replace`: a worker by another host. `move`: etcd to a host of its own. `repair`: what somebody may have changed by hand.
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
  'down',
  'delete',
] as const;
/** What a user asks for, one after the other. */
export type Step = (typeof STEPS)[number];

/** One fault, at the nth time that the controller makes that call (or a Job runs) within a step. */
export interface Fault {
  kind: FaultKind;
  step: Step;
  /** A call as `pointOf` names it, or `run`. */
  point: string;
  nth: number;
}

export interface Plan {
  steps: readonly Step[];
  faults: readonly Fault[];
}

const textOfFault = ({ kind, step, point, nth }: Fault): string => `${kind}@${step}:${point}:${nth}`;

/** A plan as one word that a shell takes without quotes: `create+delete,crash-after@create:POST/jobs/create-X-1:1`. */
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
