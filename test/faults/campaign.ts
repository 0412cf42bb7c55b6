import type { Ground } from '../worlds/ground.ts';
import type { Call } from './faulty-caller.ts';
import { type Plan, RUN_FAULTS, type Step } from './plan.ts';
import type { Trace } from './plans.ts';
import { type Outcome, runPlan } from './run-plan.ts';

export interface Verdict {
  plan: Plan;
  problems: string[];
  /** Whether the run reached every fault. */
  met: boolean;
  ms: number;
}

/** Runs the steps without faults. Throws if even that run has problems. */
export async function trace(ground: Ground, steps: readonly Step[]): Promise<Trace> {
  const { calls, problems } = await runPlan(ground, { steps, faults: [] });
  if (problems.length > 0) throw new Error(`without any fault: ${problems.join('; ')}`);
  return { steps, calls };
}

/** Runs plans, several at once, and reports each verdict when it is known. */
export async function runPlans(
  ground: Ground,
  plans: Iterable<Plan>,
  expected: Trace,
  { atOnce, tell: report }: { atOnce: number; tell(verdict: Verdict): void },
): Promise<void> {
  const queue = plans[Symbol.iterator]();
  const work = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) {
      report(await verdictOn(ground, next.value, expected));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

export async function verdictOn(ground: Ground, plan: Plan, expected: Trace): Promise<Verdict> {
  const outcome = await runPlan(ground, plan);
  const problems = [
    ...outcome.problems,
    ...(outcome.problems.length > 0 ? [] : differences(plan, outcome, expected)),
  ];
  return { plan, problems, met: outcome.unmet.length === 0, ms: outcome.ms };
}

/** Removes faults one at a time while the plan still fails. */
export async function shrink(ground: Ground, failing: Verdict, expected: Trace): Promise<Verdict> {
  for (const fault of failing.plan.faults) {
    if (failing.plan.faults.length === 1) return failing;
    const plan = { ...failing.plan, faults: failing.plan.faults.filter((one) => one !== fault) };
    const verdict = await verdictOn(ground, plan, expected);
    if (verdict.problems.length > 0) return shrink(ground, verdict, expected);
  }
  return failing;
}

/** O7: compares created and removed objects with those of the run without faults, ignoring the attempt. */
function differences(plan: Plan, { calls, wasRefused }: Outcome, expected: Trace): string[] {
  const problems: string[] = [];
  // These plans have one operation more than the run without faults.
  const edited = wasRefused || plan.faults.some(({ kind }) => kind === 'spec-edited');
  const disturbed = plan.faults.some(({ kind }) => RUN_FAULTS.some((one) => one === kind));
  const made = calls.filter(
    ({ point, done }) => done && point.startsWith('POST/') && !/\/fetch-|-fetch-/.test(point),
  );
  const points = made.map(({ step, point }) => `${step} ${point}`);
  for (const twice of new Set(points.filter((point, index) => points.indexOf(point) !== index)))
    if (!edited) problems.push(`O7: ${twice} twice`);
  if (edited) return problems;
  const [here, there] = [effectsOf(calls, disturbed), effectsOf(expected.calls, disturbed)];
  for (const one of there) if (!here.has(one)) problems.push(`O7: never: ${one}`);
  for (const one of here) if (!there.has(one)) problems.push(`O7: not without faults: ${one}`);
  return problems;
}

/**
 * Lists created and removed objects, without attempts. Fetches are left out: they depend on whether a kubeconfig was seen.
 */
function effectsOf(calls: readonly Call[], disturbed: boolean): Set<string> {
  const effects = calls.flatMap(({ step, point, done }) => {
    if (!done || !/^(POST|DELETE)\//.test(point) || /\/(fetch|attempt-fetch|report-fetch|log)-/.test(point))
      return [];
    // A run that never reports leaves no report to delete.
    if (disturbed && point.includes('/report-')) return [];
    return [`${step} ${point.replace(/-\d$/, '')}`];
  });
  return new Set(effects);
}
