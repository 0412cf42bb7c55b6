import { randomFrom } from '#base/testing/random.ts';
import type { Call } from './faulty-caller.ts';
import { CALL_FAULTS, type Fault, type Plan, RUN_FAULTS, type Step } from './plan.ts';

/** What happened in a run without faults: what can go wrong in one with faults. */
export interface Trace {
  steps: readonly Step[];
  calls: readonly Call[];
}

const faultAt = (kind: Fault['kind'], { step, point, nth }: Pick<Call, 'step' | 'point' | 'nth'>): Fault => ({
  kind,
  step,
  point,
  nth,
});

/** One plan for each way in which each call, and each run of a Job, can go wrong. */
export function enumeratedPlans({ steps, calls }: Trace): Plan[] {
  const faults: Fault[] = [];
  for (const call of calls) {
    // A write that is refused in any case (the second look for a late report) is still a place to die at.
    if (call.write) faults.push(faultAt('crash-before', call), faultAt('crash-after', call));
    else {
      if (call.found) faults.push(faultAt('absent', call));
      if (call.older) faults.push(faultAt('stale', call));
    }
  }
  return faults.map((fault) => ({ steps, faults: [fault] }));
}

/** One plan for each other way in which a write can end, and for each thing that can happen to a Job. */
export function otherPlans({ steps, calls }: Trace): Plan[] {
  const writes = calls.filter(({ write, done }) => write && done);
  const kinds = ['conflict', 'error-before', 'error-after', 'lost', 'lag'] as const;
  const faults = [
    ...writes.flatMap((call) => kinds.map((kind) => faultAt(kind, call))),
    ...steps.flatMap((step) => RUN_FAULTS.map((kind) => faultAt(kind, { step, point: 'run', nth: 1 }))),
  ];
  return faults.filter(isSensible).map((fault) => ({ steps, faults: [fault] }));
}

/** Faults that cost an attempt: an operation takes two of them, and fails for good at the third. */
const LOSING = new Set<Fault['kind']>(['job-deleted', 'pod-killed', 'linger']);
const MAX_FAULTS = 5;

/**
 * Nobody edits the spec of what is being deleted, and what a scale-down would do about it is another question; a failure
 * that cannot be told is a pod that was killed.
 */
const isSensible = ({ kind, step }: Fault): boolean =>
  (kind !== 'spec-edited' || step === 'create') &&
  (kind !== 'report-lost' || (step !== 'refused' && step !== 'cancelled'));

/** The plan of a seed: one to five faults at calls that a run makes. */
export function randomPlan(seed: number, { steps, calls }: Trace): Plan {
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const faults: Fault[] = [];
  const wanted = 1 + Math.floor(random() * MAX_FAULTS);
  while (faults.length < wanted) {
    if (random() < 0.25) {
      const [kind, step] = [pick(RUN_FAULTS), pick(steps)];
      if (!kind || !step) break;
      const nth =
        1 + faults.filter((one) => one.step === step && one.point === 'run' && LOSING.has(one.kind)).length;
      const fault = faultAt(kind, { step, point: 'run', nth: Math.min(nth, 2) });
      if (
        isSensible(fault) &&
        !faults.some((one) => one.step === step && one.point === 'run' && one.nth === fault.nth)
      )
        faults.push(fault);
      continue;
    }
    const call = pick(calls);
    const kind = pick(CALL_FAULTS);
    if (!call || !kind || call.write === (kind === 'stale' || kind === 'absent')) continue;
    faults.push(faultAt(kind, call));
  }
  return { steps, faults };
}
