import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import type { RunResult } from './command.ts';
import { connect } from './connection.ts';
import { bySudo } from './sudo.ts';
import { type Sudo, sshHost } from './testing/ssh-host.ts';

const TIMEOUT_MS = 10_000;

async function runAs(
  user: string,
  sudo: Sudo,
  command: string,
  { input = '', password, times = 1 }: { input?: string | Readable; password?: string; times?: number } = {},
) {
  await using host = await sshHost(sudo);
  const connection = await connect(host.target(user, password));
  const once = () =>
    connection
      .run(command, { input, timeoutMs: TIMEOUT_MS })
      .catch((error: unknown) => ({ error: error instanceof Error ? error : new Error(String(error)) }));
  try {
    let result = await once();
    for (let time = 1; time < times; time += 1) result = await once();
    return {
      result,
      asked: host.asked,
      calls: await host.calls(),
      tried: await host.tried(),
      received: host.received(),
    };
  } finally {
    connection.close();
  }
}

describe('a user who is not root', () => {
  it('runs a command line with quotes as root, with its standard input', async () => {
    const line = `cat; echo "it's $HOME" >&2; exit 7`;
    const { result, calls } = await runAs('ops', 'grants', line, { input: 'a secret\n' });
    expect(result).toEqual<RunResult>({ code: 7, stdout: 'a secret\n', stderr: "it's /became/root\n" });
    expect(calls.join()).not.toContain('a secret');
  });

  it('needs no extra round trip if the command succeeds', async () => {
    const { asked } = await runAs('ops', 'grants', 'exit 0');
    expect(asked).toHaveLength(1);
  });

  it.each<[string, Sudo, RegExp]>([
    [
      'wants a password',
      { says: 'a password is required', code: 1 },
      /^ops may not become root on 127\.0\.0\.1 .*a password is required.*give the password of ops with the credentials, or write the line "ops ALL=\(root\) NOPASSWD: ALL"/,
    ],
    [
      'wants a terminal',
      { says: 'sorry, you must have a tty to run sudo', code: 1 },
      /you must have a tty.* the line "Defaults:ops !requiretty"/,
    ],
    ['lets no command start another', { says: 'Permission denied', code: 126 }, /"Defaults:ops !noexec"/],
    ['is missing', 'is missing', /not found\): install sudo, and write the line "ops ALL=/],
  ])('gets an error with the fix if sudo %s', async (_what, sudo, message) => {
    const { result } = await runAs('ops', sudo, '/bin/sh -s', { input: 'exit 0\n'.repeat(20_000) });
    expect(result).toMatchObject({
      error: { reason: 'SudoRefused', message: expect.stringMatching(message) },
    });
  });

  it('gets a short error even if sudo prints a long message', async () => {
    const { result } = await runAs('ops', { says: 'no '.repeat(2_000), code: 1 }, 'exit 0');
    expect('error' in result && result.error.message.length).toBeLessThan(500);
  });
});

it.each([undefined, 'secret'])(
  'blames the shell, not sudo, if the login shell runs no command (password: %s)',
  async (password) => {
    const fed: string[] = [];
    const nologin = () => {
      const child = spawn('/bin/sh', [
        '-c',
        'echo This account is currently not available.; cat >&2; exit 1',
      ]);
      child.stdin.on('pipe', (from) => from.on('data', (chunk) => fed.push(String(chunk))));
      return child;
    };
    await using host = await sshHost('grants', nologin);
    const connection = await connect(host.target('ops', password));
    const failure = await connection
      .run('exit 0', { timeoutMs: TIMEOUT_MS })
      .catch((error: unknown) => error);
    connection.close();
    expect(failure).toMatchObject({
      reason: 'AnswerIncomplete',
      message: expect.stringContaining('set one with "usermod -s /bin/bash ops"'),
    });
    expect(fed.join('')).not.toContain('secret');
  },
);

describe('a user who is not root, with a password', () => {
  const password = `it's "p w" %s \\n`;
  const wants = { wants: password.replaceAll("'", "'\\''") };
  const input = 'first\nsecond\n';

  it.each<[string, Sudo, string[]]>([
    // Before the first command, before each command, and for the command.
    ['wants it', wants, [password, password, password]],
    ['does not', 'grants', []],
  ])('runs a command without the password in its input if sudo %s', async (_what, sudo, expected) => {
    const { result, calls, tried, received } = await runAs('ops', sudo, `cat; echo "$HOME"`, {
      password,
      input,
    });
    expect(result).toEqual<RunResult>({ code: 0, stdout: 'first\nsecond\n/became/root\n', stderr: '' });
    expect(tried).toEqual(expected);
    expect(received.includes(password)).toBe(sudo !== 'grants');
    expect(calls.join()).not.toContain('p w');
  });

  it('sends the password before a streamed input', async () => {
    const stream = Readable.from(['first\n', 'second\n']);
    const { result } = await runAs('ops', wants, 'cat', { password, input: stream });
    expect(result).toMatchObject({ stdout: input });
  });

  it('gets the exit code of a command, even if it reads no input', async () => {
    const { result } = await runAs('ops', wants, 'exit 7', { password, input: 'x\n'.repeat(200_000) });
    expect(result).toMatchObject({ code: 7 });
  });

  it('tries a wrong password once for several commands, and tries no input as password', async () => {
    const { result, tried } = await runAs('ops', { wants: 'yes' }, 'cat', {
      password: 'no',
      input,
      times: 3,
    });
    expect(result).toMatchObject({
      error: { reason: 'SudoRefused', message: expect.stringContaining('give the password of ops') },
    });
    expect(tried).toEqual(['no']);
  });

  it('does not run the password as a command if sudo no longer asks', async () => {
    await using host = await sshHost('grants');
    const { stdout } = await execa('/bin/sh', ['-c', bySudo('/bin/sh -s', true)], {
      input: 'echo "$HOME" of the password\necho as it was sent\n',
      env: { PATH: host.bin },
      extendEnv: false,
    });
    expect(stdout).toBe('as it was sent');
  });

  it('tries an outdated password once with a command, and tries no input', async () => {
    await using host = await sshHost({ wants: 'yes' });
    const child = execa('/bin/sh', ['-c', bySudo('cat', true)], {
      input: `no\n${input}`,
      env: { PATH: host.bin },
      extendEnv: false,
      reject: false,
    });
    expect(await child).toMatchObject({ exitCode: 1, stdout: '' });
    expect(await host.tried()).toEqual(['no']);
  });
});

describe('root', () => {
  it.each<Sudo>(['grants', 'is missing'])('never calls sudo if it %s', async (sudo) => {
    const { result, asked, calls } = await runAs('root', sudo, 'exit 3');
    expect(result).toMatchObject({ code: 3 });
    expect([asked, calls]).toEqual([[expect.stringContaining('exit 3')], []]);
  });
});
