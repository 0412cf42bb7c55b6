import { randomInt } from 'node:crypto';
import { runPlans, shrink, trace, type Verdict, verdictOn } from './campaign.ts';
import { type Ground, groundOn, startServer } from './ground.ts';
import { liveThroughKills } from './killed.ts';
import { type Plan, planFrom, type Step, textOfPlan } from './plan.ts';
import { enumeratedPlans, otherPlans, randomPlan, type Trace } from './plans.ts';

/**
 * `make faults`: everything that can go wrong, one thing at a time, and RANDOM plans of several at once. PLAN, a seed or
 * the text that a failure prints, runs that one plan.
 */
const LIVES: readonly (readonly Step[])[] = [
  ['create', 'delete'],
  ['create', 'up', 'down', 'delete'],
  ['refused', 'create', 'delete'],
];
/** Of a life only what the lives before it have not shown: a creation after a failed one is not that of a new object. */
const isNew = (steps: readonly Step[], { faults }: Plan): boolean =>
  faults.every(({ step }) =>
    steps.includes('up')
      ? step === 'up' || step === 'down'
      : steps.includes('refused')
        ? step !== 'delete'
        : true,
  );
const AT_ONCE = 8;
/** Processes that are killed in each step of a life; each costs the time of a lease. */
const DEATHS = 4;

const say = (text: string) => process.stdout.write(`${text}\n`);

function tellFailure({ plan, problems }: Verdict): void {
  say(`FAILED  make faults PLAN=${textOfPlan(plan)}`);
  for (const problem of problems) say(`        ${problem.slice(0, 2_000)}`);
}

/** Runs plans and answers how many failed; what failed is made smaller before it is told. */
async function campaign(
  ground: Ground,
  what: string,
  plans: readonly Plan[],
  expected: Trace,
): Promise<number> {
  const began = performance.now();
  const failed: Verdict[] = [];
  let unmet = 0;
  await runPlans(ground, plans, expected, {
    atOnce: AT_ONCE,
    tell: (verdict) => {
      if (!verdict.met) unmet += 1;
      if (verdict.problems.length > 0) failed.push(verdict);
    },
  });
  const seconds = (performance.now() - began) / 1000;
  for (const verdict of failed) tellFailure(await shrink(ground, verdict, expected));
  const each = plans.length === 0 ? 0 : (seconds * 1000) / plans.length;
  say(
    `${what}: ${plans.length} plans, ${failed.length} failed, ${unmet} with a fault that never came; ` +
      `${seconds.toFixed(0)} s, ${each.toFixed(0)} ms a plan, ${AT_ONCE} at once`,
  );
  return failed.length;
}

const wanted = process.env['PLAN'] ?? '';
const count = Number(process.env['RANDOM'] || 2_500);
const seed = Number(process.env['SEED'] || randomInt(1_000_000_000));

await using server = await startServer();
const ground = await groundOn(server.kubeconfigPath);
let failed = 0;
try {
  if (/^\d+$/.test(wanted)) {
    // The seeds of a campaign alternate between the lives.
    const expected = await trace(ground, LIVES[Number(wanted) % LIVES.length] ?? []);
    const plan = randomPlan(Number(wanted), expected);
    say(textOfPlan(plan));
    failed = await campaign(ground, `seed ${wanted}`, [plan], expected);
  } else if (wanted !== '') {
    const plan = planFrom(wanted);
    const verdict = await verdictOn(ground, plan, await trace(ground, plan.steps));
    if (verdict.problems.length > 0) tellFailure(verdict);
    else say(`held, ${verdict.met ? '' : 'though a fault never came, '}in ${verdict.ms.toFixed(0)} ms`);
    failed = verdict.problems.length > 0 ? 1 : 0;
  } else {
    const traces: Trace[] = [];
    for (const steps of LIVES) {
      const expected = await trace(ground, steps);
      traces.push(expected);
      const plans = [...enumeratedPlans(expected), ...otherPlans(expected)].filter((plan) =>
        isNew(steps, plan),
      );
      failed += await campaign(ground, steps.join('+'), plans, expected);
    }
    const { problems, kills } = await liveThroughKills(ground, server.kubeconfigPath, {
      seed,
      deaths: DEATHS,
    });
    say(`kill -9, seed ${seed}: ${kills} processes, ${problems.length} problems`);
    for (const problem of problems) say(`        ${problem}`);
    failed += problems.length;
    say(`seeds ${seed} to ${seed + count - 1}`);
    for (const [index, expected] of traces.entries()) {
      const seeds = Array.from({ length: count }, (_, offset) => seed + offset);
      const plans = seeds
        .filter((one) => one % LIVES.length === index)
        .map((one) => randomPlan(one, expected));
      failed += await campaign(ground, `random ${LIVES[index]?.join('+')}`, plans, expected);
    }
  }
} finally {
  await ground.leave();
}
process.exitCode = failed === 0 ? 0 : 1;
