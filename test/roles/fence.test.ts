import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sleep } from '#base/clock.ts';

const fence = join(import.meta.dirname, '../..', 'ansible', 'files', 'fence');
const REFUSED = {
  hostConflict: 81,
  staleRun: 82,
  hostBusy: 83,
  damaged: 84,
  cancelled: 85,
  usage: 64,
} as const;

let root = '';
let env: Record<string, string> = {};

// Shell scripts with waits, on a machine that may be busy with the rest of the run.
vi.setConfig({ testTimeout: 30_000 });

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'fence-'));
  env = { MATRYOSHKA_FENCE_ROOT: root, MATRYOSHKA_FENCE_WAIT: '20' };
});
afterEach(async () => {
  // Commands of a failed test; each leads its own process group.
  for (const file of await readdir(join(root, 'run/matryoshka/scopes')).catch(() => [])) {
    const group = Number(await readFile(join(root, 'run/matryoshka/scopes', file), 'utf8').catch(() => '0'));
    if (group > 1) {
      try {
        process.kill(-group, 'SIGKILL');
      } catch {}
    }
  }
  // A killed process may still finish its last write.
  await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

type Run = readonly [cluster: string, sequence: number, attempt: number, pod: string];
const call = (...args: readonly (string | number)[]) =>
  execa(fence, args.map(String), { env, reject: false, timeout: 60_000, stdin: 'ignore' });
const take = (run: Run, ...options: string[]) => call('take', ...run, ...options);
const run = (by: Run, command: string) => call(...by, '-c', command);
const owner = async () => JSON.parse(await readFile(join(root, 'etc/matryoshka/owner.json'), 'utf8'));
const until = async (what: string, ask: () => Promise<unknown>) => {
  for (let tries = 0; tries < 100; tries++) {
    if (await ask().catch(() => undefined)) return;
    await sleep(50);
  }
  throw new Error(`never: ${what}`);
};

const first: Run = ['a', 1, 1, 'pod-1'];

describe('taking a host', () => {
  it('writes the epoch, and the same run may repeat it', async () => {
    expect((await take(first)).exitCode).toBe(0);
    expect((await take(first)).exitCode).toBe(0);
    expect(await owner()).toEqual({
      clusterId: 'a',
      epoch: { sequence: 1, attempt: 1 },
      podUid: 'pod-1',
      released: false,
    });
  });

  it.each<[string, Run, string[], number]>([
    ['a higher attempt', ['a', 5, 3, 'p2'], [], 0],
    ['a higher sequence, however low its attempt', ['a', 6, 1, 'p2'], [], 0],
    ['numbers by value, not by spelling', ['a', 10, 1, 'p2'], [], 0],
    ['a lower attempt', ['a', 5, 1, 'p2'], [], REFUSED.staleRun],
    ['a lower sequence', ['a', 4, 9, 'p2'], [], REFUSED.staleRun],
    ['the same epoch in another pod', ['a', 5, 2, 'p2'], [], REFUSED.staleRun],
    ['another cluster', ['b', 9, 9, 'p2'], [], REFUSED.hostConflict],
    ['a lower sequence that adopts its own cluster', ['a', 1, 1, 'p2'], ['--adopt', 'a'], 0],
    ['an adoption of another', ['b', 9, 1, 'p2'], ['--adopt', 'b'], REFUSED.hostConflict],
    ['another cluster that names the owner', ['b', 1, 1, 'p2'], ['--reclaim', 'a'], 0],
    ['another cluster that names a third', ['b', 1, 1, 'p2'], ['--reclaim', 'c'], REFUSED.hostConflict],
  ])('%s', async (_what, next, options, code) => {
    expect((await take(['a', 5, 2, 'p1'])).exitCode).toBe(0);
    const before = await owner();
    const answer = await take(next, ...options);
    expect([answer.exitCode, answer.stderr.split('\n').length]).toEqual([code, 1]);
    if (code === 0) {
      expect(await owner()).toMatchObject({
        clusterId: next[0],
        epoch: { sequence: next[1], attempt: next[2] },
      });
    } else {
      expect(answer.stderr).toMatch(code === REFUSED.staleRun ? /^StaleRun: / : /^HostConflict: /);
      expect(await owner()).toEqual(before);
    }
  });

  it('gives an epoch to exactly one of twelve pods', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, pod) => take(['a', 1, 1, `pod-${pod}`])),
    );
    const won = answers.flatMap(({ exitCode }, pod) => (exitCode === 0 ? [`pod-${pod}`] : []));
    expect(won).toHaveLength(1);
    expect((await owner()).podUid).toBe(won[0]);
    expect(answers.filter(({ exitCode }) => exitCode === REFUSED.staleRun)).toHaveLength(11);
  });

  it('keeps the highest of several concurrent epochs', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, index) => take(['a', 1, index + 1, `pod-${index}`])));
    expect((await owner()).epoch).toEqual({ sequence: 1, attempt: 10 });
  });

  it('refuses an unreadable owner file and malformed arguments', async () => {
    await mkdir(join(root, 'etc/matryoshka'), { recursive: true });
    await writeFile(join(root, 'etc/matryoshka/owner.json'), '{"clusterId":');
    expect((await take(first)).exitCode).toBe(REFUSED.damaged);
    expect((await call('take', 'a b', 1, 1, 'p')).exitCode).toBe(REFUSED.usage);
    expect((await call('take', 'a', '1x', 1, 'p')).exitCode).toBe(REFUSED.usage);
    expect((await call('take', 'a', 1, 1, '$(id)')).exitCode).toBe(REFUSED.usage);
  });
});

describe('a damaged owner file', () => {
  const path = () => join(root, 'etc/matryoshka/owner.json');
  const damage = async (text: string, made?: string) => {
    await mkdir(join(root, 'etc/matryoshka'), { recursive: true });
    await writeFile(path(), text);
    if (made !== undefined) await writeFile(join(root, 'etc/matryoshka/made'), made);
  };

  it.each([
    ['is empty', ''],
    [
      'ends in a number, which may have been a longer one',
      '{"clusterId":"a","epoch":{"sequence":1,"attempt":1',
    ],
    [
      'lacks whether it was released',
      '{"clusterId":"a","epoch":{"sequence":1,"attempt":1},"podUid":"pod-1","released":fal',
    ],
  ])('blocks every run and names the repair command if it %s', async (_what, text) => {
    await damage(text);
    for (const answer of [await take(['a', 9, 1, 'p']), await run(first, 'true')])
      expect([answer.exitCode, answer.stderr]).toEqual([
        REFUSED.damaged,
        expect.stringContaining('then run here: matryoshka-fence mend'),
      ]);
  });

  it('is repaired from the manifest; then only the cluster named there may take the host', async () => {
    await damage('', 'cluster a\nhost tree /var/lib/matryoshka\n');
    expect((await call('mend')).stdout).toContain("is cluster a's");
    expect((await take(['b', 9, 1, 'p'])).exitCode).toBe(REFUSED.hostConflict);
    expect((await take(first)).exitCode).toBe(0);
  });

  it('is removed if nothing was created on the host', async () => {
    await damage('');
    expect((await call('mend')).stdout).toContain("the host is nobody's");
    expect((await take(['b', 1, 1, 'p'])).exitCode).toBe(0);
  });

  it('is a condition of mend: an intact owner file stays unchanged', async () => {
    await take(first);
    const before = await readFile(path(), 'utf8');
    expect((await call('mend')).exitCode).toBe(REFUSED.usage);
    expect(await readFile(path(), 'utf8')).toBe(before);
  });
});

describe('running a command', () => {
  it('passes output, input and exit code', async () => {
    await take(first);
    const answer = await execa(fence, [...first.map(String), '-c', 'cat; echo err >&2; exit 7'], {
      env,
      input: 'in',
      reject: false,
    });
    expect([answer.exitCode, answer.stdout, answer.stderr]).toEqual([7, 'in', 'err']);
  });

  it.each<[string, Run, number]>([
    ['a lower epoch', ['a', 1, 1, 'pod-1'], REFUSED.staleRun],
    ['a higher epoch that did not take the host', ['a', 3, 1, 'pod-1'], REFUSED.staleRun],
    ['another pod', ['a', 2, 1, 'pod-1'], REFUSED.staleRun],
    ['another cluster', ['b', 2, 1, 'pod-2'], REFUSED.hostConflict],
  ])('refuses %s', async (_what, by, code) => {
    await take(['a', 2, 1, 'pod-2']);
    const answer = await run(by, `touch ${root}/ran`);
    expect(answer.exitCode).toBe(code);
    expect(await readdir(root)).not.toContain('ran');
  });

  it('refuses a command on a host without an owner', async () => {
    expect((await run(first, 'true')).exitCode).toBe(REFUSED.staleRun);
  });

  it('does not hold the lock: two commands of a run overlap', async () => {
    await take(first);
    const long = run(first, `until [ -e ${root}/go ]; do sleep 0.05; done`);
    expect((await run(first, `touch ${root}/go`)).exitCode).toBe(0);
    expect((await long).exitCode).toBe(0);
  });

  it('is ended by a later epoch', async () => {
    await take(first);
    const long = run(first, `touch ${root}/started; sleep 30; touch ${root}/survived`);
    await until('it runs', async () => (await readdir(root)).includes('started'));
    const answer = await take(['a', 1, 2, 'pod-2']);
    expect(answer.exitCode).toBe(0);
    expect(answer.stdout).toContain('ended run.a.1.1.');
    expect((await long).exitCode).not.toBe(0);
    expect(await readdir(root)).not.toContain('survived');
  });
});

describe('a protected step', () => {
  const step = (seconds: number) =>
    `${fence} protect init sh -c 'touch ${root}/started; sleep ${seconds}; touch ${root}/done'; touch ${root}/after`;

  it('is awaited by the next run, while the rest of its run ends', async () => {
    await take(first);
    const cut = run(first, step(2));
    await until('it runs', async () => (await readdir(root)).includes('started'));
    const answer = await take(['a', 2, 1, 'pod-2']);
    expect(answer.exitCode).toBe(0);
    expect(answer.stdout).toContain('waiting for hold.a.1.1.');
    expect(await readdir(root)).toContain('done');
    await cut;
    expect(await readdir(root)).not.toContain('after');
  });

  it('continues after its caller is killed', async () => {
    await take(first);
    const cut = run(first, step(1));
    await until('it runs', async () => (await readdir(root)).includes('started'));
    cut.kill('SIGKILL');
    await until('it is done', async () => (await readdir(root)).includes('done'));
    await cut;
  });

  it('delays the next run for a bounded time only, then HostBusy', async () => {
    env = { ...env, MATRYOSHKA_FENCE_WAIT: '1' };
    await take(first);
    const cut = run(first, step(20));
    await until('it runs', async () => (await readdir(root)).includes('started'));
    const answer = await take(['a', 2, 1, 'pod-2']);
    expect([answer.exitCode, answer.stderr]).toEqual([
      REFUSED.hostBusy,
      expect.stringMatching(/^HostBusy: hold\.a\.1\.1\./),
    ]);
    // The step keeps the output open until it ends; the cleanup ends the step.
    cut.kill('SIGKILL');
  });

  it('returns its output and exit code', async () => {
    await take(first);
    const answer = await run(first, `${fence} protect x sh -c 'echo told; exit 5'`);
    expect([answer.exitCode, answer.stdout]).toEqual([5, 'told']);
  });
});

describe('stopping a run', () => {
  it('ends its commands and refuses new ones; the next run may take the host', async () => {
    await take(first);
    const long = run(first, `touch ${root}/started; sleep 30; touch ${root}/survived`);
    await until('it runs', async () => (await readdir(root)).includes('started'));
    const answer = await call('stop', ...first);
    expect([answer.exitCode, answer.stdout]).toEqual([0, expect.stringContaining('ended run.a.1.1.')]);
    expect((await long).exitCode).not.toBe(0);
    expect((await run(first, `touch ${root}/survived`)).exitCode).toBe(REFUSED.cancelled);
    expect(await readdir(root)).not.toContain('survived');
    const next: Run = ['a', 2, 1, 'pod-2'];
    expect((await take(next)).exitCode).toBe(0);
    expect((await run(next, 'true')).exitCode).toBe(0);
  });

  it('does not end a script that awaits a protected step', async () => {
    await take(first);
    const script = `${fence} protect init sh -c 'touch ${root}/started; until [ -e ${root}/go ]; do sleep 0.05; done'`;
    const awaiting = run(first, `${script}; touch ${root}/after; sleep 30`);
    await until('it runs', async () => (await readdir(root)).includes('started'));
    expect((await call('stop', ...first)).stdout).toContain('waiting for hold.a.1.1.');
    await writeFile(join(root, 'go'), '');
    await until('it goes on', async () => (await readdir(root)).includes('after'));
    expect((await call('stop', ...first)).stdout).toContain('ended run.a.1.1.');
    expect((await awaiting).exitCode).not.toBe(0);
  });

  it('is refused to every run but the one that holds the host', async () => {
    await take(['a', 3, 1, 'pod-1']);
    expect((await call('stop', 'a', 2, 1, 'pod-1')).exitCode).toBe(REFUSED.staleRun);
    expect((await call('stop', 'b', 3, 1, 'pod-1')).exitCode).toBe(REFUSED.hostConflict);
    expect((await run(['a', 3, 1, 'pod-1'], 'true')).exitCode).toBe(0);
  });
});

describe('release', () => {
  it('lets another cluster take the host, and refuses the same epoch again', async () => {
    await take(['a', 3, 1, 'pod-1']);
    expect((await call('release', 'a', 3, 1, 'pod-1')).exitCode).toBe(0);
    expect(await owner()).toMatchObject({ clusterId: 'a', released: true });
    expect((await run(['a', 3, 1, 'pod-1'], 'true')).exitCode).toBe(REFUSED.staleRun);
    expect((await take(['a', 3, 1, 'pod-1'])).exitCode).toBe(REFUSED.staleRun);
    expect((await take(['b', 1, 1, 'pod-2'])).exitCode).toBe(0);
    expect((await take(['a', 4, 1, 'pod-3'])).exitCode).toBe(REFUSED.hostConflict);
  });

  it('is refused to a run that does not hold the host', async () => {
    await take(['a', 3, 1, 'pod-1']);
    expect((await call('release', 'a', 2, 1, 'pod-1')).exitCode).toBe(REFUSED.staleRun);
    expect((await call('release', 'b', 3, 1, 'pod-1')).exitCode).toBe(REFUSED.hostConflict);
    expect(await owner()).toMatchObject({ released: false });
  });
});
