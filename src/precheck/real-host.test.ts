import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, type SshConnection } from '#ssh/connection.ts';
import { POLLUTED } from '#ssh/testing/noisy-shell.ts';
import { lacksSshd, type RealSshd, type RealSshdOptions, realSshd } from '#ssh/testing/real-sshd.ts';
import { checks } from './index.ts';
import { limitsOf } from './limits.ts';
import { precheck } from './run.ts';
import { said } from './said.ts';
import { scriptOf } from './script.ts';

const BASHRC = `echo Welcome to this host
printf 'prompt> '
echo 'stdin: is not a tty' >&2
cat() { echo POLLUTED; }; export -f cat
alias ls='ls --color=always'
trap 'echo Goodbye; echo Goodbye >&2' EXIT
`;
const timeoutMs = 20_000;
const lacks = await lacksSshd();

describe.skipIf(lacks)('a host with a noisy shell and a custom environment', () => {
  let sshd: RealSshd;
  let connection: SshConnection;

  beforeAll(async () => {
    const given = Object.entries(POLLUTED)
      .filter(([name]) => /^\w+$/.test(name))
      .map(([name, value]) => `"${name}=${value}"`);
    sshd = await realSshd({
      home: { '.bashrc': BASHRC },
      files: { '/etc/environment': 'http_proxy=http://127.0.0.1:9\nexport no_proxy="10.0.0.1"\n' },
      config: `UsePAM no\nSetEnv ${given.join(' ')}`,
    });
    connection = await connect(sshd.target);
  });
  afterAll(async () => {
    connection?.close();
    await sshd?.[Symbol.asyncDispose]();
  });
  const run = (command: string, input = '') => connection.run(command, { input, timeoutMs });

  it('returns a file unchanged, without output of the shell', async () => {
    await run('cat > /root/admin.conf', 'apiVersion: v1\nclusters: [{name: ä}]');
    expect(await run('cat /root/admin.conf')).toEqual({
      code: 0,
      stdout: 'apiVersion: v1\nclusters: [{name: ä}]',
      stderr: '',
    });
  });

  it('returns exit code, output and error of a command that reads input', async () => {
    expect(await run('/bin/sh -s', 'echo out; echo why >&2; exit 7')).toEqual({
      code: 7,
      stdout: 'out\n',
      stderr: 'why\n',
    });
    expect(await run('kill -9 $$')).toMatchObject({ code: 137, stdout: '' });
  });

  it('runs commands in a clean environment', async () => {
    const { stdout } = await run('env');
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0])
      .sort();
    expect(names).toEqual(['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'PWD', 'USER']);
    expect((await run('exec bash -s', 'echo own | cat; locale -k LC_CTYPE | grep charmap')).stdout).toBe(
      'own\ncharmap="ANSI_X3.4-1968"\n',
    );
  });

  it('is prechecked normally, with a warning about its proxy variables', async () => {
    const { stdout } = await run('/bin/sh -s', scriptOf(checks, {}));
    const host = {
      name: 'a',
      ip: '127.0.0.1',
      role: 'worker',
      clusterId: 'mine',
      said: said(stdout),
    } as const;
    expect(host.said.text('uid')).toBe('0');
    const check = checks.find(({ name }) => name === 'environment');
    const found = check?.check({
      host,
      all: [host],
      limits: {},
      networks: [],
      podNetwork: 'flannel',
      askedAtMs: 0,
      answeredAtMs: 0,
    });
    expect(found?.errors).toEqual([]);
    expect(found?.warnings.join()).toContain('/etc/environment sets http_proxy, no_proxy');
  });
});

describe.skipIf(lacks)('a host that accepts the login but runs no command', () => {
  const PAM = 'auth required pam_permit.so\naccount required pam_unix.so\nsession required pam_permit.so\n';
  const withoutShell = 'root:x:0:0:root:/root:/usr/sbin/nologin\nnobody:x:65534:65534::/:/usr/sbin/nologin\n';
  const sshdNeeds = 'sshd:x:104:65534::/run/sshd:/usr/sbin/nologin\n';

  it.each<[string, RealSshdOptions, RegExp]>([
    [
      'has no login shell',
      { files: { '/etc/passwd': withoutShell + sshdNeeds }, config: 'UsePAM no' },
      /said "This account is currently not available\." and ended with exit code 1: it has no login shell: set one with "usermod -s \/bin\/bash root"/,
    ],
    [
      'has a command of its own for the key',
      { keyOptions: 'command="printf \'Only backups\\033[2J here\'" ', config: 'UsePAM no' },
      /said "Only backups \[2J here" and ended with exit code 0: .*no "command=" before the key in authorized_keys/,
    ],
    [
      'wants a new password first',
      {
        // `chage -d 0 root` writes this.
        files: { '/etc/shadow': 'root:*:0:0:99999:7:::\n', '/etc/pam.d/sshd': PAM },
        config: 'UsePAM yes',
      },
      /said "[^"]*password[^"]*" and ended with exit code 1: its password has expired: set a new one with "passwd root"/i,
    ],
  ])('reports one problem if it %s', async (_what, options, message) => {
    await using sshd = await realSshd(options);
    const host = { name: 'a', ip: '127.0.0.1', role: 'worker', clusterId: 'mine' } as const;
    const { problems, said: answers } = await precheck([{ ...host, target: sshd.target }], checks, {
      limits: limitsOf(checks, {}),
    });
    expect(problems).toEqual([
      {
        ip: '127.0.0.1',
        check: 'AnswerIncomplete',
        severity: 'error',
        message: expect.stringMatching(message),
      },
    ]);
    expect(answers.size).toBe(0);
  });
});
