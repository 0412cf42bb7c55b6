import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2, { type Connection } from 'ssh2';
import { keyPair } from '#base/testing/key-pair.ts';
import type { SshTarget } from '../command.ts';

/** How the host's sudo takes a call: as root may be become without a password, by this one, or with this word and exit code. */
export type Sudo = 'grants' | 'is missing' | { wants: string } | { says: string; code: number };

export interface SshHost extends AsyncDisposable {
  target(user: string, password?: string): SshTarget;
  /** The command lines that were asked for, in order. */
  readonly asked: readonly string[];
  /** By what somebody wanted to log in, in order. */
  readonly methods: readonly string[];
  /** The folder of its few tools, sudo among them. */
  readonly bin: string;
  /** The arguments of each call of sudo. */
  calls(): Promise<string[]>;
  /** The passwords that sudo was given, in order. */
  tried(): Promise<string[]>;
  /** All that arrived on the standard input of its commands. */
  received(): string;
  /** Ends every connection, as a host that goes down; resolves when they are closed. */
  hangUp(): Promise<void>;
}

/** sudo(8) as far as it matters here: who wants to be asked for a password at a terminal is refused. */
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
 * An SSH server on the loopback that lets everybody in, but for the methods that `lets` refuses, and runs command lines as this process's own user: where `shell`
 * says, else among few tools.
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
        // A command need not read what it is sent.
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
