import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import type { Witness } from './mutant.ts';

/** Result of a witness; `broken` means that it ended without a verdict. */
export type Word = 'green' | 'red' | 'broken';

const reportSchema = z.object({ numPassedTests: z.number(), numFailedTests: z.number() });
const LIMIT_MS = 300_000;

/** Runs one test or plan in a tree. */
export async function hear(witness: Witness, dir: string): Promise<{ word: Word; output: string }> {
  return 'plan' in witness ? hearPlan(witness.plan, dir) : hearTest(witness, dir);
}

async function hearPlan(plan: string, dir: string): Promise<{ word: Word; output: string }> {
  const { exitCode, all } = await execa(process.execPath, ['test/faults/main.ts'], {
    cwd: dir,
    env: { PLAN: plan },
    all: true,
    reject: false,
    timeout: LIMIT_MS,
  });
  // A plan that fails without any fault prints a different message.
  const red = /^FAILED |without any fault:/m.test(all);
  return { word: exitCode === 0 ? 'green' : red ? 'red' : 'broken', output: all };
}

async function hearTest(
  { project, file, test }: Extract<Witness, { file: string }>,
  dir: string,
): Promise<{ word: Word; output: string }> {
  const report = join(dir, 'mutants.json');
  rmSync(report, { force: true });
  const pattern = test.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const { all } = await execa(
    'vitest',
    ['run', '--project', project, file, '-t', pattern, '--reporter=json', `--outputFile=${report}`],
    { cwd: dir, all: true, reject: false, timeout: LIMIT_MS, preferLocal: true, localDir: dir },
  );
  if (!existsSync(report)) return { word: 'broken', output: all };
  const { numPassedTests, numFailedTests } = reportSchema.parse(JSON.parse(readFileSync(report, 'utf8')));
  const word = numFailedTests > 0 ? 'red' : numPassedTests > 0 ? 'green' : 'broken';
  return { word, output: all };
}
