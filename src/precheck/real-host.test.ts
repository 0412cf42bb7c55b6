import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyPair } from '#base/testing/key-pair.ts';
import { connect, type SshConnection } from '#ssh/connection.ts';
import { POLLUTED } from '#ssh/testing/noisy-shell.ts';
import { checks } from './index.ts';
import { said } from './said.ts';
import { scriptOf } from './script.ts';

/**
 * A real sshd, in a mount namespace with a home of root's whose shell says this and that, and with the environment that
 * /etc/environment gives.
 */
const lacks = async () =>
  (await execa('sh', ['-c', 'test -x /usr/sbin/sshd && unshare --mount true'], { reject: false }))
    .exitCode !== 0;

const BASHRC = `echo Welcome to this host
printf 'prompt> '
echo 'stdin: is not a tty' >&2
cat() { echo POLLUTED; }; export -f cat
alias ls='ls --color=always'
trap 'echo Goodbye; echo Goodbye >&2' EXIT
`;
const timeoutMs = 20_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}

describe.skipIf(await lacks())('a host whose shell says this and that, in an environment of its own', () => {
  let folder = '';
  let connection: SshConnection;
  let end = () => {};

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'real-host-'));
    const home = join(folder, 'root');
    const [user, host] = [keyPair(), keyPair()];
    await mkdir(join(home, '.ssh'), { recursive: true, mode: 0o700 });
    await writeFile(join(home, '.ssh/authorized_keys'), user.public, { mode: 0o600 });
    await writeFile(join(home, '.bashrc'), BASHRC);
    await writeFile(
      join(folder, 'environment'),
      'http_proxy=http://127.0.0.1:9\nexport no_proxy="10.0.0.1"\n',
    );
    await writeFile(join(folder, 'host-key'), host.private, { mode: 0o600 });
    await chmod(home, 0o700);
    const port = await freePort();
    const given = Object.entries(POLLUTED)
      .filter(([name]) => /^\w+$/.test(name))
      .map(([name, value]) => `"${name}=${value}"`);
    await writeFile(
      join(folder, 'config'),
      `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${folder}/host-key\nUsePAM no\nPermitRootLogin prohibit-password\nPidFile none\nSetEnv ${given.join(' ')}\n`,
    );
    const script = `mount --bind '${home}' /root; mount --bind '${folder}/environment' /etc/environment; mkdir -p /run/sshd; exec /usr/sbin/sshd -D -e -f '${folder}/config'`;
    const child = spawn('unshare', ['--mount', 'sh', '-c', script], { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr.on('data', (chunk) => {
      log += chunk;
    });
    end = () => child.kill();
    const target = {
      host: '127.0.0.1',
      port,
      user: 'root',
      privateKey: user.private,
      knownHosts: '',
      timeoutMs,
    };
    for (let tries = 0; ; tries += 1) {
      try {
        connection = await connect(target);
        break;
      } catch (error) {
        if (tries === 50) throw new Error(`${error}: ${log}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  });
  afterAll(async () => {
    connection?.close();
    end();
    await rm(folder, { recursive: true, force: true });
  });
  const run = (command: string, input = '') => connection.run(command, { input, timeoutMs });

  it('gives a file as it is, and nothing of what the shell says', async () => {
    await run('cat > /root/admin.conf', 'apiVersion: v1\nclusters: [{name: ä}]');
    expect(await run('cat /root/admin.conf')).toEqual({
      code: 0,
      stdout: 'apiVersion: v1\nclusters: [{name: ä}]',
      stderr: '',
    });
  });

  it('gives the exit code and the word of a command, whatever it reads', async () => {
    expect(await run('/bin/sh -s', 'echo out; echo why >&2; exit 7')).toEqual({
      code: 7,
      stdout: 'out\n',
      stderr: 'why\n',
    });
    expect(await run('kill -9 $$')).toMatchObject({ code: 137, stdout: '' });
  });

  it('runs commands in an environment of ours', async () => {
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

  it('is prechecked as any other; that it has a proxy of its own is said with file and variables', async () => {
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
      askedAtMs: 0,
      answeredAtMs: 0,
    });
    expect(found?.errors).toEqual([]);
    expect(found?.warnings.join()).toContain('/etc/environment sets http_proxy, no_proxy');
  });
});
