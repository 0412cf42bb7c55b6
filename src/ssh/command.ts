import type { Readable, Writable } from 'node:stream';

export interface SshTarget {
  host: string;
  port: number;
  user: string;
  privateKey?: string | undefined;
  /** Password of the user, for a login after the key if there is one, and for sudo. */
  password?: string | undefined;
  /** Lines of known_hosts; the first key of a host without a line is trusted. */
  knownHosts: string;
  /** Limit of connecting, and once more of the whole handshake. */
  timeoutMs: number;
}

export interface RunOptions {
  /** Standard input of the command. */
  input?: string | Readable;
  /**
   * Gets standard output as it arrives, with what the host's shell prints before and after it. The result then has only
   * its start and its end. The caller ends it.
   */
  output?: Writable;
  timeoutMs: number;
}

export interface RunResult {
  code: number;
  stdout: string;
  stderr: string;
}
