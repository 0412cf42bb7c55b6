import { randomInt } from 'node:crypto';
import { type Ground, groundOn, startServer } from '../worlds/ground.ts';
import { runPlans, shrink, trace, type Verdict, verdictOn } from './campaign.ts';
import { liveThroughKills } from './killed.ts';
import { isNew, LIVES } from './lives.ts';
import { type Plan, planFrom, textOfPlan } from './plan.ts';
import { enumeratedPlans, otherPlans, randomPlan, type Trace } from './plans.ts';

/**
 * `make faults`: every possible fault one at a time, then real processes that are killed, then RANDOM plans with several
 * faults. PLAN runs one of these: a seed, the text that a failure prints, `kill-SEED`, or `random` for all. LIFE runs the
 * single faults of one life.
 */
const AT_ONCE = 8;
const TELL_MS = 10_000;
/** Kills in each step of a life; each takes as long as a lease. */
const DEATHS = 4;

const say = (text: string) => process.stdout.write(`${text}\n`);

function reportFailure({ plan, problems }: Verdict): void {
  say(`FAILED  make faults PLAN=${textOfPlan(plan)}`);
  for (const problem of problems) say(`        ${problem.slice(0, 2_000)}`);
}

/** Runs plans and returns how many failed. Failed plans are reduced before they are reported. */
async function campaign(
  ground: Ground,
  what: string,
  plans: readonly Plan[],
  expected: Trace,
): Promise<number> {
  const began = performance.now();
  const failed: Verdict[] = [];
  let unmet = 0;
  let done = 0;
  let reportedAt = began;
  await runPlans(ground, plans, expected, {
    atOnce: AT_ONCE,
    tell: (verdict) => {
      done += 1;
      if (performance.now() > reportedAt + TELL_MS) {
        reportedAt = performance.now();
        say(`${what}: ${done} of ${plans.length}, ${failed.length} failed`);
      }
      if (!verdict.met) unmet += 1;
      if (verdict.problems.length > 0) failed.push(verdict);
    },
  });
  const seconds = (performance.now() - began) / 1000;
  for (const verdict of failed) reportFailure(await shrink(ground, verdict, expected));
  const each = plans.length === 0 ? 0 : (seconds * 1000) / plans.length;
  say(
    `${what}: ${plans.length} plans, ${failed.length} failed, ${unmet} with a fault that never came; ` +
      `${seconds.toFixed(0)} s, ${each.toFixed(0)} ms a plan, ${AT_ONCE} at once`,
  );
  return failed.length;
}

const wanted = process.env['PLAN'] ?? '';
const life = process.env['LIFE'] ?? '';
const count = Number(process.env['RANDOM'] || 2_500);
const seed = Number(process.env['SEED'] || randomInt(1_000_000_000));

await using server = await startServer();
const ground = await groundOn(server.kubeconfigPath);

/** Runs every single fault in each of these lives. */
async function enumerated(lives: typeof LIVES): Promise<number> {
  let failed = 0;
  for (const steps of lives) {
    const expected = await trace(ground, steps);
    const plans = [...enumeratedPlans(expected), ...otherPlans(expected)];
    failed += await campaign(
      ground,
      steps.join('+'),
      plans.filter((plan) => isNew(steps, plan)),
      expected,
    );
  }
  return failed;
}

async function kills(from: number): Promise<number> {
  const { problems, killed } = await liveThroughKills(ground, server.kubeconfigPath, {
    seed: from,
    deaths: DEATHS,
  });
  say(`kill -9, again by PLAN=kill-${from}: ${killed} processes, ${problems.length} problems`);
  for (const problem of problems) say(`        ${problem}`);
  return problems.length;
}

/** Runs random plans; their seeds take the lives in turn. */
async function random(from: number, many: number): Promise<number> {
  say(`seeds ${from} to ${from + many - 1}`);
  let failed = 0;
  for (const [index, steps] of LIVES.entries()) {
    const seeds = Array.from({ length: many }, (_, offset) => from + offset).filter(
      (one) => one % LIVES.length === index,
    );
    if (seeds.length === 0) continue;
    const expected = await trace(ground, steps);
    const plans = seeds.map((one) => randomPlan(one, expected));
    failed += await campaign(ground, `random ${steps.join('+')}`, plans, expected);
  }
  return failed;
}

async function onePlan(text: string): Promise<number> {
  const plan = planFrom(text);
  const verdict = await verdictOn(ground, plan, await trace(ground, plan.steps));
  if (verdict.problems.length > 0) reportFailure(verdict);
  else say(`held, ${verdict.met ? '' : 'though a fault never came, '}in ${verdict.ms.toFixed(0)} ms`);
  return verdict.problems.length;
}

async function run(): Promise<number> {
  const { of } = /^kill-(?<of>\d+)$/.exec(wanted)?.groups ?? {};
  if (of !== undefined || wanted === 'kill') return kills(Number(of ?? seed));
  if (wanted === 'random') return random(seed, count);
  if (/^\d+$/.test(wanted)) return random(Number(wanted), 1);
  if (wanted !== '') return onePlan(wanted);
  if (life !== '') {
    const lives = LIVES.filter((steps) => steps.join('+') === life);
    if (lives.length > 0) return enumerated(lives);
    say(`LIFE: ${life} is none of:\n${LIVES.map((steps) => `  ${steps.join('+')}`).join('\n')}`);
    return 1;
  }
  return (await enumerated(LIVES)) + (await kills(seed)) + (await random(seed, count));
}

try {
  process.exitCode = (await run()) === 0 ? 0 : 1;
} finally {
  await ground.leave();
}
