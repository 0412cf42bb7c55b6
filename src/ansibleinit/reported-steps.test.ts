import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { RunSpec } from '#protocol/run-spec.ts';
import { carryOut } from './run.ts';
import { settingsIn } from './testing/settings-in.fixture.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'steps-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

/** Returns the steps that a run reports while Ansible begins these plays. */
async function reported(plays: readonly string[], planned: readonly string[]): Promise<string[]> {
  const lines = plays.map(
    (play) => `echo '${JSON.stringify({ time: '2026-01-01T10:00:00Z', event: 'play', play })}'`,
  );
  writeFileSync(join(dir, 'ansible-playbook'), `#!/bin/sh\n${lines.join('\n')}\n`);
  chmodSync(join(dir, 'ansible-playbook'), 0o755);
  vi.stubEnv('PATH', `${dir}:${process.env['PATH']}`);
  const runSpec: RunSpec = {
    task: 'scale-down',
    callback: 'scaledown',
    playbook: 'scale-down.yml',
    cluster: { id: 'id1', namespace: 'default', name: 'demo', region: 'default' },
    run: { job: 'scale-down-x-1', sequence: 1, attempt: 1 },
    steps: planned.map((name) => ({ name, hosts: [], pace: 'one', cut: 'between' })),
    hosts: [],
    username: 'root',
    precheck: 'all',
    brings: [],
    endpoint: { name: 'api', address: '' },
    vars: {},
  };
  const steps: string[] = [];
  const { signal } = new AbortController();
  const uplink = {
    send: () => {},
    step: (name: string) => void steps.push(name),
    close: async () => {},
    cancelled: signal,
  };
  await carryOut(settingsIn(dir, runSpec), uplink, signal);
  return steps;
}

it('reports the steps of the plan, not plays that have nothing to do', async () => {
  const plays = ['Take hosts', 'Remove etcd members', 'Reset hosts', 'Complete'];
  expect(await reported(plays, ['Take hosts', 'Reset hosts'])).toEqual(['Take hosts', 'Reset hosts']);
});

it('reports every play of a run without a plan', async () => {
  expect(await reported(['Prepare hosts'], [])).toEqual(['Prepare hosts']);
});
