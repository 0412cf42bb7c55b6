import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { keyPair } from '#base/testing/key-pair.ts';
import type { SshTarget } from '../command.ts';

export interface RealSshd extends AsyncDisposable {
  target: SshTarget;
}

export interface RealSshdOptions {
  /** Files in root's home, by name. */
  home?: Readonly<Record<string, string>>;
  /** Files of the host, by path, each of which must already exist. */
  files?: Readonly<Record<string, string>>;
  /** Lines of sshd_config. */
  config?: string;
  /** Options before the key in authorized_keys. */
  keyOptions?: string;
  /** Shell commands that run before sshd starts, in its mount namespace. */
  before?: string;
}

/** Whether this machine has no sshd, or allows no mount namespace. */
export const lacksSshd = async (): Promise<boolean> =>
  (await execa('sh', ['-c', 'test -x /usr/sbin/sshd && unshare --mount true'], { reject: false }))
    .exitCode !== 0;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}

/** Starts a real sshd on the loopback, in a mount namespace with a separate home of root and separate files. */
export async function realSshd(options: RealSshdOptions = {}): Promise<RealSshd> {
  const { home: inHome = {}, files = {}, config = '', keyOptions = '', before = '' } = options;
  const folder = await mkdtemp(join(tmpdir(), 'real-sshd-'));
  const home = join(folder, 'root');
  const [user, host] = [keyPair(), keyPair()];
  await mkdir(join(home, '.ssh'), { recursive: true, mode: 0o700 });
  await writeFile(join(home, '.ssh/authorized_keys'), `${keyOptions}${user.public}`, { mode: 0o600 });
  for (const [name, text] of Object.entries(inHome)) await writeFile(join(home, name), text);
  await chmod(home, 0o700);
  await writeFile(join(folder, 'host-key'), host.private, { mode: 0o600 });
  const binds: string[] = [];
  for (const [index, [path, text]] of Object.entries(files).entries()) {
    await writeFile(join(folder, `file-${index}`), text);
    binds.push(`mount --bind '${folder}/file-${index}' '${path}'`);
  }
  const port = await freePort();
  await writeFile(
    join(folder, 'config'),
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${folder}/host-key\nPermitRootLogin prohibit-password\nPidFile none\n${config}\n`,
  );
  const script = [
    `mount --bind '${home}' /root`,
    ...binds,
    'mkdir -p /run/sshd',
    before,
    `exec /usr/sbin/sshd -D -e -f '${folder}/config'`,
  ].join('\n');
  const child = spawn('unshare', ['--mount', 'sh', '-c', script], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  const listening = new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`sshd ended: ${log}`)));
    child.stderr.on('data', (chunk) => {
      log += chunk;
      if (log.includes('Server listening')) resolve();
    });
  });
  await listening;
  return {
    target: {
      host: '127.0.0.1',
      port,
      user: 'root',
      privateKey: user.private,
      knownHosts: '',
      timeoutMs: 20_000,
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
