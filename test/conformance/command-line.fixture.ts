import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { type RestWorld, restWorld } from '../../src/server/testing/rest-world.ts';

/** The command line as users call it: a process, a server with TLS, a real API server. */

export const MAIN = join(import.meta.dirname, '../../src/main.ts');

/** A process starts slowly beside others. */
export const soon = { timeout: 30_000 };

/** Flags of a creation. */
export const SECRET = ['--credentials-secret', 'keys'];
export const hosts = (name: number) => [
  '--control-planes',
  `192.0.2.${name}`,
  '--workers',
  `192.0.2.${name + 1}`,
];

export interface Command {
  /** Returns what it has printed to standard error so far. */
  noted(): string;
  printed(): string;
  kill(signal: 'SIGINT'): void;
  end(): Promise<{ code: number | null; out: string; err: string }>;
}

export interface CommandLine {
  world: RestWorld;
  server: Server;
  url: string;
  /** Home of the user, with the authority of the server in `ca.crt`. */
  home: string;
  begin(args: readonly string[], input?: string): Command;
  /** Begins a command in a terminal, where keys are typed and both outputs are one. Arguments have no spaces. */
  inTerminal(args: readonly string[]): Command & { type(keys: string): void };
  run(args: readonly string[], input?: string): ReturnType<Command['end']>;
  login(token: string): ReturnType<Command['end']>;
  /** Logs in as a user with every right on clusters, and creates the Secret `keys`; returns the token. */
  loginAsOwner(): Promise<string>;
  /** Writes what the controller writes when it begins or ends the operation that was requested last. */
  statusOf(name: string, operation: object, more?: object): Promise<void>;
  stop(): Promise<void>;
}

export async function commandLine(): Promise<CommandLine> {
  const world = await restWorld();
  const home = await mkdtemp(join(tmpdir(), 'command-line-'));
  const { ca, cert, key } = await createServerCertificates();
  await writeFile(join(home, 'ca.crt'), ca);
  await world.app.ready();
  const server = createServer({ cert, key }, (request, response) => world.app.routing(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const children: ChildProcess[] = [];

  const started = (program: string, args: readonly string[]) => {
    const child = spawn(program, args, {
      env: { HOME: home, PATH: process.env['PATH'] },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    children.push(child);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      err += chunk;
    });
    const command: Command = {
      noted: () => err,
      printed: () => out,
      kill: (signal) => void child.kill(signal),
      end: async () => ({ code: await ended, out, err }),
    };
    return { child, command };
  };
  const begin = (args: readonly string[], input = ''): Command => {
    const { child, command } = started(process.execPath, [MAIN, ...args]);
    child.stdin.end(input);
    return command;
  };
  const inTerminal = (args: readonly string[]) => {
    // A new terminal has no lines.
    const line = ['stty rows 40 cols 120; exec', process.execPath, MAIN, ...args].join(' ');
    const { child, command } = started('script', ['-qefc', line, '/dev/null']);
    return { ...command, type: (keys: string) => void child.stdin.write(keys) };
  };
  const run = (args: readonly string[], input?: string) => begin(args, input).end();
  const login = (token: string) =>
    run(['login', '--server', url, '--ca', join(home, 'ca.crt'), '-n', world.namespace], token);

  return {
    ...{ world, server, url, home, begin, inTerminal, run, login },
    async loginAsOwner() {
      const token = await world.accountWith([
        { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['*'] },
        { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
      ]);
      const { code, err } = await login(`${token}\n`);
      expect([code, err]).toEqual([0, '']);
      const base64 = (text: string) => Buffer.from(text).toString('base64');
      await world.admin.create(
        { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true },
        {
          metadata: { namespace: world.namespace, name: 'keys' },
          data: { username: base64('root'), 'ssh-privatekey': base64('x') },
        },
      );
      return token;
    },
    async statusOf(name, operation, more = {}) {
      const key = { namespace: world.namespace, name };
      const { metadata } = await world.admin.get(KUBERNETES_CLUSTERS, key);
      const requestId = metadata.annotations?.[annotations.requestId];
      const status = {
        operation: {
          ...{ id: 'b7k2m9x4qz', sequence: 1, attempt: 1, word: 'creating', requestId, specHash: 'x' },
          ...{ generation: 1, spec: { cluster: {} }, startedAt: '2026-11-29T10:00:00Z', ...operation },
        },
        ...more,
      };
      await world.admin.patch(KUBERNETES_CLUSTERS, key, { status }, { type: 'merge', subresource: 'status' });
    },
    async stop() {
      for (const child of children) child.kill('SIGKILL');
      server.closeAllConnections();
      server.close();
      await world.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
