import { randomFrom } from '#base/testing/random.ts';
import type { Call } from './faulty-caller.ts';
import { CALL_FAULTS, type Fault, isCancelled, type Plan, RUN_FAULTS, type Step } from './plan.ts';

/** Calls of a run without faults, from which the plans with faults are made. */
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

/** Returns one plan for each crash around a write, and for each stale or empty read. */
export function enumeratedPlans({ steps, calls }: Trace): Plan[] {
  const faults: Fault[] = [];
  for (const call of calls) {
    // A write that is always refused (the second check for a late report) is still a place to crash.
    if (call.write) faults.push(faultAt('crash-before', call), faultAt('crash-after', call));
    else {
      if (call.found) faults.push(faultAt('absent', call));
      if (call.older) faults.push(faultAt('stale', call));
    }
  }
  return faults.map((fault) => ({ steps, faults: [fault] }));
}

/** Returns one plan for each other result of a write, and for each fault of a Job. */
export function otherPlans({ steps, calls }: Trace): Plan[] {
  const writes = calls.filter(({ write, done }) => write && done);
  const kinds = ['conflict', 'error-before', 'error-after', 'lost', 'lag'] as const;
  const faults = [
    ...writes.flatMap((call) => kinds.map((kind) => faultAt(kind, call))),
    ...steps.flatMap((step) => RUN_FAULTS.map((kind) => faultAt(kind, { step, point: 'run', nth: 1 }))),
  ];
  return faults.filter(isSensible).map((fault) => ({ steps, faults: [fault] }));
}

/** Faults that cost an attempt. An operation survives two of them and fails at the third. */
const LOSING = new Set<Fault['kind']>(['job-deleted', 'pod-killed', 'linger']);
const MAX_FAULTS = 5;

/**
 * Leaves out spec edits outside of creations: a cluster in deletion is not edited, and a scale-down would react with a
 * separate operation. Leaves out a lost report of a failure, which equals a killed pod.
 */
const isSensible = ({ kind, step }: Fault): boolean =>
  (kind !== 'spec-edited' || step === 'create') &&
  (kind !== 'report-lost' || (step !== 'refused' && !isCancelled(step)));

/** Makes the plan of a seed: one to five faults at calls of the run. */
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
