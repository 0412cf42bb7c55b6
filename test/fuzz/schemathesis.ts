import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { pythonEnvironment } from '#lab/artifacts/python.ts';

const PACKAGE = 'schemathesis==4.32.5';

/**
 * Refusals that the schema cannot express: states of clusters, permissions, rules between fields, and names such as
 * __proto__ (400).
 */
const CONFIG = `
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "429"]
negative_data_rejection.expected-statuses = ["2xx", "4xx"]
`;

/** Runs schemathesis against a server and returns whether it passed. Its output goes to standard output. */
export async function fuzzBySchema(
  { url, caPath, token, dir }: { url: string; caPath: string; token: string; dir: string },
  { seed, examples }: { seed: number; examples: number },
): Promise<boolean> {
  const program = join(await pythonEnvironment([PACKAGE], sayOnStderr), 'schemathesis');
  const config = join(dir, 'schemathesis.toml');
  await writeFile(config, CONFIG);
  const { exitCode } = await execa(
    program,
    [
      `--config-file=${config}`,
      'run',
      `${url}/docs/json`,
      `--url=${url}`,
      `--tls-verify=${caPath}`,
      `--seed=${seed}`,
      `--max-examples=${examples}`,
      '--phases=examples,coverage,fuzzing',
      '--checks=all',
      '--continue-on-failure',
      `--header=Authorization: Bearer ${token}`,
    ],
    // schemathesis stores its findings below the working directory.
    { cwd: dir, stdin: 'ignore', stdout: 'inherit', stderr: 'inherit', reject: false },
  );
  return exitCode === 0;
}
