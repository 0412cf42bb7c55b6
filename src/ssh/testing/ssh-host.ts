import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2, { type Connection } from 'ssh2';
import { keyPair } from '#base/testing/key-pair.ts';
import type { SshTarget } from '../command.ts';

/**
 * Behaviour of the host's sudo: it grants root without a password, wants this password, or prints this and exits with a
 * code.
 */
export type Sudo = 'grants' | 'is missing' | { wants: string } | { says: string; code: number };

export interface SshHost extends AsyncDisposable {
  target(user: string, password?: string): SshTarget;
  /** Requested command lines, in order. */
  readonly asked: readonly string[];
  /** Methods of login attempts, in order. */
  readonly methods: readonly string[];
  /** Folder of its few tools, including sudo. */
  readonly bin: string;
  /** Returns the arguments of each call of sudo. */
  calls(): Promise<string[]>;
  /** Returns the passwords that sudo got, in order. */
  tried(): Promise<string[]>;
  /** Returns everything on the standard input of its commands. */
  received(): string;
  /** Ends every connection, like a host that goes down; resolves when they are closed. */
  hangUp(): Promise<void>;
}

/** Returns a stand-in for sudo(8), as far as tests need it: it refuses to ask for a password at a terminal. */
const sudoOf = (sudo: Exclude<Sudo, 'is missing'>, log: string): string => `#!/bin/sh
printf '%s\\n' "$*" >>'${log}'
${typeof sudo === 'object' && 'says' in sudo ? `echo 'sudo: ${sudo.says}' >&2; exit ${sudo.code}` : ''}
case "$*" in
  '-k -n -H -u root -- '*) shift 6; asked= ;;
  '-k -S -p  -H -u root -- '*) shift 8; asked=yes ;;
  *) echo 'sudo: a terminal is required' >&2; exit 1 ;;
esac
${typeof sudo === 'object' && 'wants' in sudo ? asking(sudo.wants, log) : ''}
HOME=/became/root exec "$@"
`;
const asking = (
  password: string,
  log: string,
) => `[ -n "$asked" ] || { echo 'sudo: a password is required' >&2; exit 1; }
for try in 1 2 3; do
  read -r given || { echo 'sudo: no password was provided' >&2; exit 1; }
  printf '%s\\n' "$given" >>'${log}.tried'
  [ "$given" != '${password}' ] || break
  [ "$try" != 3 ] || { echo 'sudo: 3 incorrect password attempts' >&2; exit 1; }
done`;

/**
 * Starts an SSH server on the loopback that accepts every login, except methods that `lets` refuses. It runs command lines
 * as this process's user: in `shell`, else with few tools.
 */
export async function sshHost(
  sudo: Sudo,
  shell?: (command: string) => ChildProcessWithoutNullStreams,
  lets: (method: string) => boolean = () => true,
): Promise<SshHost> {
  const bin = await mkdtemp(join(tmpdir(), 'ssh-host-'));
  const log = join(bin, 'calls');
  for (const file of [log, `${log}.tried`]) await appendFile(file, '');
  for (const tool of ['sh', 'cat', 'sleep']) await symlink(`/bin/${tool}`, join(bin, tool));
  if (sudo !== 'is missing') {
    await writeFile(join(bin, 'sudo'), sudoOf(sudo, log));
    await chmod(join(bin, 'sudo'), 0o755);
  }
  const [asked, methods]: [string[], string[]] = [[], []];
  let received = '';
  const clients = new Set<Connection>();
  const { private: hostKey } = keyPair();
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
    clients.add(client.on('close', () => clients.delete(client)));
    client.on('authentication', (attempt) => {
      methods.push(attempt.method);
      if (lets(attempt.method)) attempt.accept();
      else attempt.reject(['publickey', 'password']);
    });
    client.on('error', () => {});
    client.on('session', (accept) => {
      accept().on('exec', (acceptExec, _reject, { command }) => {
        asked.push(command);
        const channel = acceptExec();
        const child = shell?.(command) ?? spawn('/bin/sh', ['-c', command], { env: { PATH: bin } });
        // A command need not read its input.
        child.stdin.on('error', () => {});
        channel.on('data', (chunk: Buffer) => {
          received += String(chunk);
        });
        channel.pipe(child.stdin);
        child.stdout.pipe(channel, { end: false });
        child.stderr.pipe(channel.stderr, { end: false });
        child.on('close', (code) => {
          channel.exit(code ?? 255);
          channel.end();
        });
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('it has no port');
  const { port } = address;
  const linesOf = async (file: string) =>
    (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  return {
    target: (user, password) => ({
      host: '127.0.0.1',
      port,
      user,
      password,
      knownHosts: '',
      timeoutMs: 10_000,
    }),
    asked,
    methods,
    bin,
    calls: () => linesOf(log),
    tried: () => linesOf(`${log}.tried`),
    received: () => received,
    hangUp: async () => {
      await Promise.all([...clients].map((client) => once(client.end(), 'close')));
    },
    async [Symbol.asyncDispose]() {
      server.close();
      await rm(bin, { recursive: true });
    },
  };
}
