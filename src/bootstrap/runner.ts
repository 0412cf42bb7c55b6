import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { UsageError } from '#base/errors.ts';
import { type Report, reportFrom } from '#protocol/report.ts';
import { RUN_SPEC_FILE, type RunSpec } from '#protocol/run-spec.ts';

export interface RunnerInput {
  image: string;
  /** Returns the run spec for a sequence, which grows with each run. */
  runSpec(sequence: number): RunSpec;
  artifacts: unknown;
  inventoryVars: string;
  privateKey: string;
  knownHosts: string;
}

const RUN_TIMEOUT_MS = 30 * 60_000;

/**
 * Runs ansibleinit in the runner image on this machine, like a Job's pod, so that this machine needs only Docker, and no
 * Ansible. Keys are passed as files that only this user can read.
 */
export async function runHere(input: RunnerInput, print: (line: string) => void): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'matryoshka-bootstrap-'));
  chmodSync(directory, 0o700);
  const etc = join(directory, 'etc');
  for (const part of ['access', 'site', 'out']) mkdirSync(join(etc, part), { recursive: true });
  const write = (path: string, text: string) => writeFileSync(join(etc, path), text, { mode: 0o600 });
  try {
    write('access/ssh-privatekey', input.privateKey);
    write('access/known_hosts', input.knownHosts);
    write('site/artifacts.json', JSON.stringify(input.artifacts));
    write('site/inventory-vars.yaml', input.inventoryVars);
    // The sequence grows from run to run, even if another machine makes the next run.
    const sequence = Math.floor(Date.now() / 1000);
    write(`access/${RUN_SPEC_FILE}`, JSON.stringify(input.runSpec(sequence)));
    const environment = {
      POD_UID: `bootstrap-${sequence}`,
      REPORT_FILE: '/etc/matryoshka/out/report.json',
    };
    const names = Object.keys(environment).flatMap((name) => ['--env', name]);
    const child = execa(
      'docker',
      [
        'run',
        '--rm',
        '--network=host',
        '--user=0:0',
        ...names,
        `--volume=${etc}:/etc/matryoshka`,
        '--tmpfs=/run/matryoshka',
        input.image,
      ],
      { env: environment, all: true, buffer: false, reject: false, stdin: 'ignore', timeout: RUN_TIMEOUT_MS },
    );
    for await (const line of child.iterable({ from: 'all' })) print(line);
    const { exitCode } = await child;
    const report = readReport(join(etc, 'out/report.json'));
    if (exitCode !== 0 || !report?.success) {
      throw new UsageError(
        `the meta cluster could not be made: ${report?.message ?? `the runner ended with code ${exitCode}`}`,
      );
    }
    return report;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function readReport(path: string): Report | undefined {
  try {
    return reportFrom(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
