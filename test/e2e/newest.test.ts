import { execa } from 'execa';
import { expect, it } from 'vitest';

const BOUND_MS = 14 * 60_000;

it('what holds on the oldest API server that we support holds on the newest', async () => {
  // Of our own run's settings the other one must know nothing.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));
  const run = await execa('vitest', ['run', '--project', 'api'], {
    preferLocal: true,
    extendEnv: false,
    env: { ...env, MATRYOSHKA_API_SERVER: 'newest' },
    stdin: 'ignore',
    all: true,
    reject: false,
    timeout: BOUND_MS,
  });
  expect(run.exitCode, run.all).toBe(0);
});
