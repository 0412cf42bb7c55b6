import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { haproxyProgram } from '#lab/haproxy/program.ts';
import { ensurePackages } from '#lab/hosts/packages.ts';

/**
 * `make test`: format, lint, types, unused code, unit tests, tests against a real API server, and one life of a cluster on
 * lab hosts. It continues after a failure, so one run reports everything. The last line has the counts.
 */
interface Part {
  name: string;
  command: readonly [string, ...string[]];
  /** A vitest project reports its own count; anything else is one check. */
  project?: string;
  env?: Readonly<Record<string, string>>;
}

const vitest = (project: string, ...more: string[]): Part => ({
  name: project,
  project,
  command: ['vitest', 'run', '--project', project, '--reporter=default', '--reporter=json', ...more],
});

const parts: readonly Part[] = [
  { name: 'format and lint', command: ['biome', 'check', '.'] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  {
    name: 'import rules',
    command: ['depcruise', 'src', 'lab', 'test', 'bench', 'deploy', 'docs', 'dashboard'],
  },
  { name: 'unused code', command: ['knip'] },
  { name: 'links of documents', command: ['node', 'docs/site/build.ts'] },
  { name: 'shell scripts', command: ['node', 'test/shell-lint.ts'] },
  vitest('unit'),
  vitest('api'),
  vitest('faults'),
  { ...vitest('e2e-light', 'test/e2e/life-by-rest.test.ts', 'test/e2e/images.test.ts'), env: { LANES: '1' } },
];

const reportSchema = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          status: z.string(),
          fullName: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});
type Report = z.infer<typeof reportSchema>;

const FAILURE_LETTERS = 2_000;
const reasonOf = (messages: readonly string[]): string =>
  messages
    .flatMap((message) => message.split('\n'))
    .filter((line) => !line.includes('/node_modules/') && !line.endsWith('at new Promise (<anonymous>)'))
    .join('\n')
    .slice(0, FAILURE_LETTERS);
/** Lists what failed and why, so that the end of a long log is enough to read. */
const failuresOf = ({ testResults }: Report): string[] =>
  testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    return [
      ...(message ? [`${file}\n${message}`] : []),
      ...failed.map(
        ({ fullName, failureMessages }) => `${file} > ${fullName}\n${reasonOf(failureMessages ?? [])}`,
      ),
    ];
  });

// Some tests create bridges in network namespaces of this machine, and run a real sshd and the action plugin. If a program
// for these cannot be installed, their tests are skipped and report the reason.
await ensurePackages(
  { nft: 'nftables', ip: 'iproute2', sshd: 'openssh-server', python3: 'python3' },
  sayOnStderr,
).catch((error: unknown) => sayOnStderr(messageOf(error)));

// Ingress tests need the program; a build here is not limited by a test's timeout.
await haproxyProgram(sayOnStderr).catch((error: unknown) => sayOnStderr(messageOf(error)));

const scratch = mkdtempSync(join(tmpdir(), 'matryoshka-test-'));
let passed = 0;
let failed = 0;
const rows: string[] = [];
const failures: string[] = [];
for (const { name, command, project, env = {} } of parts) {
  process.stdout.write(`\n== ${name}\n`);
  const began = performance.now();
  const output = join(scratch, `${name}.json`);
  const [file, ...args] = command;
  const { exitCode } = await execa(
    file,
    project === undefined ? args : [...args, `--outputFile.json=${output}`],
    {
      stdio: 'inherit',
      reject: false,
      preferLocal: true,
      env,
    },
  );
  const ok = exitCode === 0;
  const report =
    project !== undefined && existsSync(output)
      ? reportSchema.parse(JSON.parse(readFileSync(output, 'utf8')))
      : undefined;
  if (report) failures.push(...failuresOf(report));
  passed += report?.numPassedTests ?? (ok ? 1 : 0);
  // A failure outside of all tests (setup, unhandled rejection) counts as one failure.
  failed += Math.max(report?.numFailedTests ?? 0, ok ? 0 : 1);
  rows.push(
    `${ok ? 'ok    ' : 'FAILED'}  ${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${name}`,
  );
}
rmSync(scratch, { recursive: true, force: true });
for (const failure of failures) process.stdout.write(`\nFAILED ${failure}\n`);
process.stdout.write(`\n${rows.join('\n')}\n\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
