import type { Ground } from '../worlds/ground.ts';
import type { Call } from './faulty-caller.ts';
import { type Plan, RUN_FAULTS, type Step } from './plan.ts';
import type { Trace } from './plans.ts';
import { type Outcome, runPlan } from './run-plan.ts';

export interface Verdict {
  plan: Plan;
  problems: string[];
  /** Whether the run came to every fault. */
  met: boolean;
  ms: number;
}

/** A run without faults. Throws when even that one does not hold. */
export async function trace(ground: Ground, steps: readonly Step[]): Promise<Trace> {
  const { calls, problems } = await runPlan(ground, { steps, faults: [] });
  if (problems.length > 0) throw new Error(`without any fault: ${problems.join('; ')}`);
  return { steps, calls };
}

/** Runs plans, some at once; tells each verdict as it comes. */
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

/** Drops faults one at a time for as long as the plan still fails. */
export async function shrink(ground: Ground, failing: Verdict, expected: Trace): Promise<Verdict> {
  for (const fault of failing.plan.faults) {
    if (failing.plan.faults.length === 1) return failing;
    const plan = { ...failing.plan, faults: failing.plan.faults.filter((one) => one !== fault) };
    const verdict = await verdictOn(ground, plan, expected);
    if (verdict.problems.length > 0) return shrink(ground, verdict, expected);
  }
  return failing;
}

/** O7: what was made and removed is what the run without faults makes and removes, whatever the attempt. */
function differences(plan: Plan, { calls, wasRefused }: Outcome, expected: Trace): string[] {
  const problems: string[] = [];
  // Another course than without faults: one operation more.
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

/** Objects made and removed, without attempts; a fetch is what a kubeconfig that was not seen costs. */
function effectsOf(calls: readonly Call[], disturbed: boolean): Set<string> {
  const effects = calls.flatMap(({ step, point, done }) => {
    if (!done || !/^(POST|DELETE)\//.test(point) || /\/(fetch|attempt-fetch|report-fetch|log)-/.test(point))
      return [];
    // A run that never reports leaves no report to remove.
    if (disturbed && point.includes('/report-')) return [];
    return [`${step} ${point.replace(/-\d$/, '')}`];
  });
  return new Set(effects);
}
