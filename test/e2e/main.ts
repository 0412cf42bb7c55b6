import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import { sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { labDown } from '#lab/hosts/down.ts';
import { shareLab, startLab } from './lab.ts';
import { HEAVY_LANES, LANES } from './lane.ts';

/**
 * `make e2e`: runs the projects on one lab in parallel, with a separate lane for the light files (vitest gives all files of
 * a run the same lanes). After them, that lane runs the files that disturb a meta cluster. They use a second lab, because no
 * other test may depend on that meta cluster, and another lane would slow down all of them. The add-ons come last, on one
 * cluster. LANES=1 runs one file at a time. It continues after a failure, so one run reports everything.
 */
const STRIKING = 'e2e-disturbing';
const PROJECTS = ['e2e', 'e2e-light', STRIKING, 'e2e-unattended', 'e2e-addons'] as const;
type Project = (typeof PROJECTS)[number];
const OF_LAST_LANE: ReadonlySet<Project> = new Set(['e2e-light', 'e2e-addons']);

const { F = '', T, KEEP, LAB } = process.env;
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

/** Returns the lab of a project: the shared one, or one that its run of vitest creates and removes. */
const labOf = (project: Project, shared: string): Record<string, string> =>
  project === STRIKING
    ? { LAB: '2', LANES: '1' }
    : { E2E_LAB: shared, FIRST_LANE: String(OF_LAST_LANE.has(project) && LANES > 1 ? HEAVY_LANES : 0) };

/** Runs the files of a project. A project that could not run counts as failed. */
async function run(project: Project, shared: string, folder: string): Promise<Count> {
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
      env: labOf(project, shared),
      stdin: 'ignore',
      // Pipes, because two runs at once would overwrite each other's terminal output.
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

/**
 * Returns which labs have files to run: files whose path contains one of the arguments. A filter by test name starts the
 * second lab only if one of its files has such a test.
 */
async function labsMeant(): Promise<{ shared: boolean; second: boolean }> {
  const names = await readdir(import.meta.dirname, { recursive: true });
  const meant = names
    .filter((name) => name.endsWith('.test.ts'))
    .filter((name) => files.length === 0 || files.some((part) => `test/e2e/${name}`.includes(part)));
  const striking = meant.filter((name) => name.startsWith('disturbing/'));
  const texts = await Promise.all(striking.map((name) => readFile(join(import.meta.dirname, name), 'utf8')));
  const isNamed = files.length > 0 || T === undefined || texts.some((text) => text.includes(T));
  return { shared: meant.length > striking.length, second: striking.length > 0 && isNamed };
}

/** Removes the labs that this run has created, including a second one whose creator did not finish. */
async function removeLabs({ shared, second }: { shared: boolean; second: boolean }): Promise<void> {
  if (second)
    await execa('node', ['lab/main.ts', 'down'], { env: { LAB: '2' }, stdio: 'inherit', reject: false });
  if (shared) await labDown(say);
}

async function main(): Promise<number> {
  if (LAB !== undefined) {
    say('LAB is for other commands: both labs are used here');
    return 2;
  }
  const meant = await labsMeant();
  if (!meant.shared && !meant.second) {
    say(`F is "${F}": no file of test/e2e has a part of it in its path`);
    return 2;
  }
  const begun = performance.now();
  const seconds = () => Math.round((performance.now() - begun) / 1_000);
  const folder = await mkdtemp(join(tmpdir(), 'e2e-'));
  const counts: Count[] = [];
  try {
    const lab = meant.shared ? await shareLab(await startLab(say)) : '';
    const count = async (project: Project) => {
      counts.push(await run(project, lab, folder));
      say(`${project}: done after ${seconds()} s`);
    };
    const inTurn = async (projects: readonly Project[]) => {
      for (const project of projects)
        if (project === STRIKING ? meant.second : meant.shared) await count(project);
    };
    if (LANES > 1) {
      const [heavy, light] = [inTurn(['e2e']), inTurn(['e2e-light'])];
      await Promise.all([
        // These tests kill an operator, so they run after the files that need it.
        Promise.all([heavy, light]).then(() => inTurn(['e2e-unattended'])),
        light.then(() => inTurn([STRIKING, 'e2e-addons'])),
      ]);
    } else await inTurn(PROJECTS);
  } finally {
    await rm(folder, { recursive: true, force: true });
    if (KEEP === undefined) await removeLabs(meant);
  }
  const sum = (of: (count: Count) => number) => counts.reduce((all, count) => all + of(count), 0);
  const [passed, failed] = [sum((count) => count.passed), sum((count) => count.failed)];
  say(`${passed} passed, ${failed} failed, ${seconds()} s (${cpus().length} cores)`);
  if (passed + failed === 0) say(`no test has T, "${T ?? ''}", in its name`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

process.exitCode = await main();
