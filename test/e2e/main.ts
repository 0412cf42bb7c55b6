import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import { sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { labDown } from '#lab/hosts/down.ts';
import { shareLab, startLab } from './lab.ts';
import { HEAVY_LANES, LANES } from './lane-count.ts';

/**
 * `make e2e`: one lab, and on it the projects of each phase beside each other, the light files in a lane of their own
 * (vitest gives all files of a run the same lanes). LANES=1 runs one file at a time. Goes on after a failure, so that one
 * run tells everything.
 */
const PHASES = [
  ['e2e', 'e2e-light'],
  ['e2e-unattended', 'e2e-unattended-light'],
  ['e2e-disturbing'],
] as const;
type Project = (typeof PHASES)[number][number];

const { F = '', T, KEEP } = process.env;
const files = F.split(' ').filter((part) => part !== '');

const reportSchema = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numFailedTestSuites: z.number(),
});
interface Count {
  passed: number;
  failed: number;
}

/** Runs the files of a project; one that could not be run at all counts as failed. */
async function run(project: Project, lab: string, folder: string): Promise<Count> {
  const isLight = project.endsWith('-light') && LANES > 1;
  const report = join(folder, `${project}.json`);
  const reporters = ['default', './test/e2e/failures-at-once.ts', 'json'].map((one) => `--reporter=${one}`);
  const { failed } = await execa(
    'vitest',
    [
      ...['run', '--project', project, ...files, ...(T ? ['-t', T] : []), '--passWithNoTests'],
      ...reporters,
      `--outputFile.json=${report}`,
    ],
    {
      env: { E2E_LAB: lab, FIRST_LANE: String(isLight ? HEAVY_LANES : 0) },
      stdin: 'ignore',
      // Two at once would each draw over what the other has drawn.
      stdout: ['pipe', 'inherit'],
      stderr: ['pipe', 'inherit'],
      buffer: false,
      reject: false,
    },
  );
  try {
    const found = reportSchema.parse(JSON.parse(await readFile(report, 'utf8')));
    const broken = failed && found.numFailedTests === 0 ? Math.max(1, found.numFailedTestSuites) : 0;
    return { passed: found.numPassedTests, failed: found.numFailedTests + broken };
  } catch (error) {
    say(`${project}: no report: ${messageOf(error)}`);
    return { passed: 0, failed: 1 };
  }
}

/** Whether some file's path has one of the parts that were given: else a whole lab would be made for nothing. */
async function isAnyMeant(): Promise<boolean> {
  const names = await readdir(import.meta.dirname, { recursive: true });
  const paths = names.filter((name) => name.endsWith('.test.ts')).map((name) => `test/e2e/${name}`);
  return files.length === 0 || paths.some((path) => files.some((part) => path.includes(part)));
}

async function main(): Promise<number> {
  if (!(await isAnyMeant())) {
    say(`F is "${F}": no file of test/e2e has a part of it in its path`);
    return 2;
  }
  const begun = performance.now();
  const seconds = () => Math.round((performance.now() - begun) / 1_000);
  const folder = await mkdtemp(join(tmpdir(), 'e2e-'));
  const counts: Count[] = [];
  try {
    const lab = await shareLab(await startLab(say));
    const count = async (project: Project) => {
      counts.push(await run(project, lab, folder));
      say(`${project}: done after ${seconds()} s`);
    };
    for (const projects of PHASES) {
      if (LANES > 1) await Promise.all(projects.map(count));
      else for (const project of projects) await count(project);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
    if (KEEP === undefined) await labDown(say);
  }
  const sum = (of: (count: Count) => number) => counts.reduce((all, count) => all + of(count), 0);
  const [passed, failed] = [sum((count) => count.passed), sum((count) => count.failed)];
  say(`${passed} passed, ${failed} failed, ${seconds()} s (${cpus().length} cores)`);
  if (passed + failed === 0) say(`no test has T, "${T ?? ''}", in its name`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

process.exitCode = await main();
