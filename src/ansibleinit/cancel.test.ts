import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import type { RunEvent } from '#protocol/event.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import { runPlaybook } from './playbook.ts';
import { carryOut } from './run.ts';
import type { Settings } from './settings.ts';
import { settingsIn } from './testing/settings-in.fixture.ts';

const host = (ip: string): RunSpec['hosts'][number] => ({
  member: { ip, name: ip, duties: ['worker'] },
  action: 'join',
});
const runSpec: RunSpec = {
  task: 'scale-up',
  callback: 'scaleup',
  playbook: 'scale-up.yml',
  cluster: { id: 'id1', namespace: 'default', name: 'demo', region: 'default' },
  run: { job: 'scale-up-x-1', sequence: 3, attempt: 1 },
  steps: [
    { name: 'Reset hosts', hosts: ['127.0.0.1'], pace: 'all', cut: 'never' },
    { name: 'Join hosts', hosts: ['127.0.0.1'], pace: 'all', cut: 'between' },
  ],
  hosts: [host('127.0.0.1')],
  username: 'root',
  precheck: 'all',
  brings: [],
  endpoint: { name: 'api', address: '' },
  vars: {},
};

let dir: string;
let settings: Settings;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cancel-'));
  settings = settingsIn(dir, runSpec);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const event = (kind: RunEvent['event'], play: string, more: Partial<RunEvent> = {}): string =>
  `echo '${JSON.stringify({ time: '2026-01-01T10:00:00Z', event: kind, play, ...more })}'`;
const at = { host: '127.0.0.1', task: 'Task' };
const appears = (file: string): string => `until [ -e "${file}" ]; do sleep 0.02; done`;

/** Installs a stand-in for ansible-playbook with these lines. */
function ansible(...lines: string[]): void {
  writeFileSync(join(dir, 'ansible-playbook'), `#!/bin/sh\n${lines.join('\n')}\n`);
  chmodSync(join(dir, 'ansible-playbook'), 0o755);
  vi.stubEnv('PATH', `${dir}:${process.env['PATH']}`);
}

/**
 * Runs a playbook and cancels it at the first task, unless `isCancelled` is false. A file records `cutOff`; time advances by
 * `tickMs` until the end.
 */
async function played(tickMs = 0, isCancelled = true) {
  const cancelled = new AbortController();
  const clock = createManualClock();
  const cuts: (readonly string[])[] = [];
  const files = { inventory: '', knownHosts: '', privateKey: undefined };
  let over = false;
  const onEvent = (one: RunEvent) => {
    if (one.event === 'start' && isCancelled) cancelled.abort();
  };
  const cutOff = async (ips: readonly string[]) => {
    cuts.push(ips);
    writeFileSync(join(dir, 'cut'), '');
  };
  const result = runPlaybook('scale-up.yml', settings, files, onEvent, {
    signal: new AbortController().signal,
    cancelled: cancelled.signal,
    cutOff,
    clock,
  }).finally(() => {
    over = true;
  });
  // Time advances only while the brake has a timer, so no wait depends on this machine's speed.
  for (let ticks = 0; tickMs > 0 && !over; ticks += clock.timers) {
    await clock.advance(clock.timers > 0 ? tickMs : 0);
    if (ticks > 3) writeFileSync(join(dir, 'ticked'), '');
  }
  return { ...(await result), cuts };
}

describe('a cancelled playbook', () => {
  it('waits for the running task and does not interrupt it', async () => {
    ansible(
      event('play', 'Join hosts'),
      event('start', 'Join hosts', at),
      appears('$MATRYOSHKA_STOP_FILE'),
      event('ok', 'Join hosts', { ...at, did: ['taken', 'prepared'] }),
      'exit 2',
    );
    const { complete, failed, did, steps, play, cuts } = await played();
    expect({ complete, failed, steps, play, cuts }).toEqual({
      complete: false,
      failed: new Map(),
      steps: ['Join hosts'],
      play: 'Join hosts',
      cuts: [],
    });
    expect([...(did.get('127.0.0.1') ?? [])]).toEqual(['taken', 'prepared']);
  });

  it('interrupts a task that keeps running on its host', async () => {
    ansible(
      event('play', 'Join hosts'),
      event('start', 'Join hosts', at),
      appears(join(dir, 'cut')),
      event('failed', 'Join hosts', { ...at, message: 'exit code 137' }),
      'exit 2',
    );
    const { failed, cuts } = await played(1_000);
    expect(cuts[0]).toEqual(['127.0.0.1']);
    expect(failed.get('127.0.0.1')).toBe('Task: it was cut off, as the operation was cancelled');
  });

  it('interrupts nothing in a step that must finish', async () => {
    ansible(
      event('play', 'Reset hosts'),
      event('start', 'Reset hosts', at),
      appears('$MATRYOSHKA_STOP_FILE'),
      '[ "$MATRYOSHKA_UNCUT" = \'["Reset hosts"]\' ] || exit 9',
      appears(join(dir, 'ticked')),
      event('ok', 'Reset hosts', { ...at, did: ['reset'] }),
      'exit 2',
    );
    // Minutes pass by the brake's clock, and the playbook may still finish.
    const { cuts, did, failed } = await played(60_000);
    expect([cuts, failed.size, [...(did.get('127.0.0.1') ?? [])]]).toEqual([[], 0, ['reset']]);
  });

  it('is killed if its task cannot be interrupted, and the host counts as taken', async () => {
    ansible(event('play', 'Join hosts'), event('start', 'Join hosts', at), 'exec sleep 60');
    const { failed, did, cuts } = await played(5_000);
    expect(cuts.length).toBeGreaterThan(1);
    expect(failed.get('127.0.0.1')).toContain('cut off');
    expect([...(did.get('127.0.0.1') ?? [])]).toEqual(['taken']);
  });
});

describe('a playbook whose Ansible process dies', () => {
  it('reports the step and the host of the running task', async () => {
    ansible(event('play', 'Join hosts'), event('start', 'Join hosts', at), 'kill -9 $$');
    const { complete, cutShort, failed, did, steps } = await played(0, false);
    expect({ complete, cutShort, steps }).toEqual({ complete: false, cutShort: true, steps: ['Join hosts'] });
    expect(failed.get('127.0.0.1')).toBe('Task: Ansible ended while it ran; how far it came is not known');
    expect([...(did.get('127.0.0.1') ?? [])]).toEqual(['taken']);
  });

  it('counts as cut short if the connection to the host was lost', async () => {
    ansible(
      event('play', 'Join hosts'),
      event('start', 'Join hosts', at),
      event('unreachable', 'Join hosts', { ...at, message: 'no route' }),
      'exit 4',
    );
    expect(await played(0, false)).toMatchObject({ complete: false, cutShort: true });
  });

  it('does not count as cut short if its tasks had ended', async () => {
    ansible(
      event('play', 'Join hosts'),
      event('start', 'Join hosts', at),
      event('failed', 'Join hosts', { ...at, message: 'no room' }),
      'exit 2',
    );
    expect(await played(0, false)).toMatchObject({ complete: false, cutShort: false });
  });
});

describe('a playbook whose Ansible process does not exit', () => {
  // A stuck child process keeps the playbook's output open.
  const stuck = (...events: string[]) => ansible('sleep 300 &', 'echo $! > stuck', ...events, 'wait');
  afterEach(() => process.kill(Number(readFileSync(join(dir, 'stuck'), 'utf8'))));

  it('is complete if it reported completion', async () => {
    stuck(event('play', 'Complete'), event('complete', 'Complete'));
    expect(await played(5_000, false)).toMatchObject({ complete: true, cutShort: false, message: '' });
  });

  it('has failed if its last events report a failure', async () => {
    stuck(
      event('play', 'Join hosts'),
      event('failed', 'Join hosts', { ...at, message: 'no room' }),
      event('stats', 'Join hosts'),
    );
    const { complete, cutShort, failed } = await played(5_000, false);
    expect({ complete, cutShort }).toEqual({ complete: false, cutShort: false });
    expect(failed.get('127.0.0.1')).toBe('Task: no room');
  });

  it('ends after it is killed, even if its output stays open', async () => {
    stuck(event('play', 'Join hosts'), event('start', 'Join hosts', at));
    expect(await played(5_000)).toMatchObject({ complete: false, cutShort: true });
  });
});

describe('a cancelled run', () => {
  /** Server that accepts connections and never answers. */
  let silent: Server;
  let port: number;
  const connected = Promise.withResolvers<void>();
  beforeEach(async () => {
    silent = createServer(() => connected.resolve());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  });
  afterEach(() => void silent.close());

  it('reports at once while a host is silent, and changes no host', async () => {
    const cancelled = new AbortController();
    ansible('touch "$HOME/played"');
    const hosts = [{ ...host('127.0.0.1'), member: { ...host('127.0.0.1').member, port } }];
    const uplink = { send: () => {}, step: () => {}, close: async () => {}, cancelled: cancelled.signal };
    const began = performance.now();
    const run = carryOut(
      { ...settings, runSpec: { ...runSpec, hosts } },
      uplink,
      new AbortController().signal,
    );
    await connected.promise;
    cancelled.abort();
    expect(await run).toMatchObject({
      success: false,
      reason: 'Cancelled',
      hosts: [{ ip: '127.0.0.1', ok: false, did: [] }],
    });
    // A silent host would count as unreachable after 15 s.
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(existsSync(join(dir, 'played'))).toBe(false);
  });
});
