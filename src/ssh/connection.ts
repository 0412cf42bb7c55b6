/**
 * Opens SSH connections with pinned host keys, and runs commands as root, with sudo for another user. Errors say what the
 * user must do.
 */

import { type Socket, connect as tcpConnect } from 'node:net';
import { Readable, type Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import {
  type AuthenticationType,
  Client,
  type ClientChannel,
  type ConnectConfig,
  type ServerHostKeyAlgorithm,
} from 'ssh2';
import { messageOf } from '#base/errors.ts';
import { answerIncomplete } from './answer-incomplete.ts';
import type { RunOptions, RunResult, SshTarget } from './command.ts';
import { framed } from './framed.ts';
import { gate } from './gate.ts';
import { keyTypeOf, knownHostLine, type Pins, pinsOf } from './known-hosts.ts';
import { SshError } from './ssh-error.ts';
import { byUserWhoSudos, type RunLine } from './sudo.ts';

export interface SshConnection {
  /** Line of known_hosts with the key that the host showed. */
  readonly hostKeyLine: string;
  /**
   * Runs a command line as root with a fixed environment; another user needs sudo. The result excludes the output of the
   * host's shell before and after the command. Rejects if the time is over, the connection breaks, sudo refuses, or the
   * answer is incomplete.
   */
  run(command: string, options: RunOptions): Promise<RunResult>;
  /** Whether commands need the password on the host; known once one has run. */
  sudoAsks(): Promise<boolean>;
  close(): void;
}

/** Limit of a command's output; the rest is dropped, because a host must not fill this process's memory. */
const MAX_OUTPUT = 4 * 1024 * 1024;

const RSA_SIGNATURES: ServerHostKeyAlgorithm[] = ['rsa-sha2-512', 'rsa-sha2-256'];
const isPinnable = (type: string): type is 'ssh-ed25519' =>
  type === 'ssh-ed25519' || type.startsWith('ecdsa-sha2-');

/** Returns signature algorithms that make the host show a key of a type that is pinned for it. */
const algorithmsFor = (types: string[]): ServerHostKeyAlgorithm[] =>
  types.flatMap((type) => (type === 'ssh-rsa' ? RSA_SIGNATURES : isPinnable(type) ? [type] : []));

/**
 * Limits parallel handshakes: each costs milliseconds of this thread, and the time limit of a waiting one has not begun.
 * Connecting and waiting for the server's first line are cheap, so hosts that are away do not delay the others.
 */
const handshakes = gate(32);

/** Opens one connection. Rejects with SshError. `timeoutMs` limits connecting and the handshake separately. */
export async function connect(target: SshTarget): Promise<SshConnection> {
  const pins = readPins(target);
  const socket = await dial(target);
  return handshakes.pass(() => shakeHands(target, pins, socket));
}

/**
 * Lists the methods in order: the password comes after a refused or missing key. ssh2's default order begins with the
 * password.
 */
const methodsOf = ({ privateKey, password }: SshTarget): AuthenticationType[] => [
  'none',
  ...(privateKey === undefined ? [] : (['publickey'] as const)),
  ...(password === undefined ? [] : (['password'] as const)),
];

const whereOf = ({ user, host, port }: SshTarget): string => `${user}@${host}:${port}`;

function dial(target: SshTarget): Promise<Socket> {
  const { host, port, timeoutMs } = target;
  return new Promise((resolve, reject) => {
    const socket = tcpConnect({ host, port });
    let stage = 'connecting';
    const timer = setTimeout(() => fail(new Error(`Timed out while ${stage}`)), timeoutMs);
    function fail(error: Error): void {
      clearTimeout(timer);
      socket.destroy();
      reject(describe(error, whereOf(target), undefined));
    }
    socket.once('error', fail);
    socket.once('connect', () => {
      stage = 'waiting for its SSH server';
    });
    // The server sends the first line, which stays in the socket for the handshake.
    socket.once('readable', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      // The handshake adds its own listener later.
      socket.on('error', () => {});
      resolve(socket);
    });
  });
}

function shakeHands(target: SshTarget, { pinned, revoked }: Pins, socket: Socket): Promise<SshConnection> {
  const { host, port, user, timeoutMs } = target;
  const where = whereOf(target);
  const wanted = algorithmsFor([...pinned.keys()]);
  let hostKeyLine = '';
  let changed: string | undefined;

  return new Promise((resolve, reject) => {
    const client = new Client();
    const config: ConnectConfig = {
      sock: socket,
      username: user,
      readyTimeout: timeoutMs,
      keepaliveInterval: 10_000,
      keepaliveCountMax: 3,
      ...(wanted.length > 0 ? { algorithms: { serverHostKey: wanted } } : {}),
      ...(target.privateKey === undefined ? {} : { privateKey: target.privateKey }),
      ...(target.password === undefined ? {} : { password: target.password }),
      authHandler: methodsOf(target),
      hostVerifier: (key: Buffer): boolean => {
        const shown = key.toString('base64');
        if (pinned.size > 0 && !pinned.get(keyTypeOf(key))?.has(shown)) {
          changed = `${host} shows another host key than the one that was pinned (${keyTypeOf(key)})`;
        } else if (revoked.has(shown)) {
          changed = `${host} shows a host key that known_hosts has revoked (${keyTypeOf(key)})`;
        }
        if (changed !== undefined) return false;
        hostKeyLine = knownHostLine(host, port, key);
        return true;
      },
    };
    // A failure may raise two errors (a timeout, then the socket's end). The first rejects. The listener must stay for later
    // ones, which would end the process; commands notice them by their closing streams.
    client.on('error', (error: Error & { level?: string }) => {
      client.destroy();
      reject(describe(error, where, changed));
    });
    client.once('ready', () => {
      const ask: RunLine = (command, options) => run(client, where, command, options);
      const root =
        user === 'root' ? { run: byRoot(target, ask), asks: async () => false } : byUserWhoSudos(target, ask);
      resolve({
        hostKeyLine,
        run: root.run,
        sudoAsks: root.asks,
        close: () => client.end(),
      });
    });
    try {
      client.connect(config);
    } catch (error) {
      reject(new SshError('KeyInvalid', `the SSH key is unusable: ${messageOf(error)}`));
    }
  });
}

const byRoot =
  (target: SshTarget, ask: RunLine): RunLine =>
  async (command, options) => {
    const { line, whole, read } = framed(command);
    const result = await ask(line, options);
    if (!whole(result)) throw answerIncomplete(target, read(result));
    return read(result);
  };

function readPins({ knownHosts, host, port }: SshTarget): Pins {
  try {
    return pinsOf(knownHosts, host, port);
  } catch (error) {
    throw new SshError('PinsUnreadable', messageOf(error));
  }
}

function describe(error: Error & { level?: string }, where: string, changed: string | undefined): SshError {
  if (changed !== undefined) return new SshError('HostKeyChanged', changed);
  if (error.level === 'client-authentication') {
    return new SshError(
      'AuthenticationFailed',
      `${where} refuses the key or password; correct the user and the key of the credentials, or add the public key to ~/.ssh/authorized_keys there`,
    );
  }
  // The message is the same for a closed port, a silent port and another service, so that users cannot scan networks with
  // it.
  return new SshError(
    'Unreachable',
    `${where} does not answer as an SSH server; check its address and port, firewalls, and that sshd runs`,
  );
}

/** Start and end of a streamed output that the result has; the marks around a command are in them. */
const ENDS = 16 * 1024;

/** Sends the output on at the pace of its reader. Returns a function that gives its start and its end. */
function stream(channel: ClientChannel, sink: Writable): () => string {
  let head: Buffer = Buffer.alloc(0);
  let tail: Buffer = Buffer.alloc(0);
  channel.on('data', (chunk: Buffer) => {
    const room = ENDS - head.length;
    if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
    const more = chunk.subarray(Math.max(0, room));
    tail = more.length < ENDS ? Buffer.concat([tail, more]).subarray(-ENDS) : more.subarray(-ENDS);
    if (!sink.write(chunk)) channel.pause();
  });
  sink.on('drain', () => channel.resume());
  // The reader gave up, so the command ends as well.
  sink.once('close', () => {
    channel.removeAllListeners('data').resume();
    channel.close();
  });
  return () => head.toString('latin1') + tail.toString('latin1');
}

function run(
  client: Client,
  where: string,
  command: string,
  { before = '', input = '', output: sink, timeoutMs }: Parameters<RunLine>[1],
): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new SshError('Unreachable', `${where} did not finish a command within ${timeoutMs / 1000} s`));
      client.destroy();
    }, timeoutMs);
    const fail = (error: unknown) => {
      clearTimeout(timer);
      reject(new SshError('Unreachable', `${where} runs no command: ${messageOf(error)}`));
    };
    const started = (error: Error | undefined, channel: ClientChannel) => {
      if (error) return fail(error);
      const output = { stdout: '', stderr: '' };
      // A character may be split over two chunks.
      const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
      let code: number | undefined;
      const collect = (name: 'stdout' | 'stderr') => (chunk: Buffer) => {
        if (output[name].length < MAX_OUTPUT) output[name] += decoders[name].write(chunk);
      };
      const ends = sink && stream(channel, sink);
      if (!sink) channel.on('data', collect('stdout'));
      channel.stderr.on('data', collect('stderr'));
      channel.on('exit', (status: number | null) => {
        code = status ?? 255;
      });
      channel.on('close', () => {
        clearTimeout(timer);
        if (code === undefined)
          reject(new SshError('Unreachable', `${where} closed the connection during a command`));
        else resolve({ code, ...output, ...(ends && { stdout: ends() }) });
      });
      if (before !== '') channel.write(before);
      if (input instanceof Readable) input.pipe(channel);
      else channel.end(input);
    };
    // The call throws if the connection has ended since it was opened.
    try {
      client.exec(command, started);
    } catch (error) {
      fail(error);
    }
  });
}
