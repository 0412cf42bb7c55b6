import type { Readable } from 'node:stream';

export interface SshTarget {
  host: string;
  port: number;
  user: string;
  privateKey?: string | undefined;
  /** Of the user: to log in, after the key if there is one, and where sudo asks. */
  password?: string | undefined;
  /** Lines of known_hosts; a host that is not in it is taken at first sight. */
  knownHosts: string;
  /** For the way to the host, and once more for the whole handshake. */
  timeoutMs: number;
}

export interface RunOptions {
  /** What the command reads on standard input. */
  input?: string | Readable;
  timeoutMs: number;
}

export interface RunResult {
  code: number;
  stdout: string;
  stderr: string;
}
