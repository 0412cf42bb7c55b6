import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import { plainText } from '#base/plain-text.ts';
import { type Parts, type RestAnswer, type RestClient, restClient } from '#rest/client.ts';
import { NotFollowed } from '#rest/follow.ts';
import { type Https, overHttps } from '#rest/https.ts';
import type { Route } from '#rest/route.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { CommandFailure, EXIT, type Flags, refusal, wrongUse } from './failure.ts';
import type { connectionOptions } from './options.ts';

export type ConnectionOptions = z.infer<typeof connectionOptions>;

/** Connection of a command to the REST API of a server. */
export interface Session {
  /**
   * Calls a route and returns the body of its answer. Throws CommandFailure if the server refuses or cannot be reached; a
   * refusal names the flag of a field, if there is one.
   */
  call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    route: Route<P, Q, B, A>,
    parts: Parts<z.input<P>, z.input<Q>, z.input<B>>,
    flags?: Flags,
  ): Promise<z.output<A>>;
  /** Does the same for a cluster that may not exist: undefined instead of a failure with 404. */
  find<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    route: Route<P, Q, B, A>,
    parts: Parts<z.input<P>, z.input<Q>, z.input<B>>,
  ): Promise<z.output<A> | undefined>;
  /** Reads a log line by line until it ends, through restarts of the server. */
  lines(
    path: string,
    onLine: (line: string) => void,
    signal: AbortSignal,
    onInterrupted?: () => void,
  ): Promise<void>;
  namespace: string;
  /** Region of `--region`; undefined: that of the cluster. */
  region: string | undefined;
}

const CONFIG_FILE = join(homedir(), '.matryoshka', 'config.yaml');
/** File that `matryoshka bootstrap` writes. */
const CA_FILE = join(homedir(), '.matryoshka', 'ca.crt');

export const configPathOf = ({ config }: Pick<ConnectionOptions, 'config'>): string => config ?? CONFIG_FILE;

/** Reads the file of "matryoshka login". One that the user names must be there. */
export const storedConfig = ({ config }: Pick<ConnectionOptions, 'config'>): ConfigFile =>
  config === undefined ? readConfigFile(CONFIG_FILE) : readConfigFile(config, '--config');

/** Reads a file that a flag names. */
export function readNamed(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw wrongUse(`${flag}: ${path} cannot be read: ${messageOf(error)}`);
  }
}

/** Returns an address without a path. Throws CommandFailure if it is not one of HTTPS. */
export function serverUrl(text: string): string {
  const address = text.includes('://') ? text : `https://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'https:' || url.pathname !== '/')
    throw wrongUse(`--server: ${text} is not an address of a server; write it like https://192.0.2.10:32443`);
  return url.origin;
}

/** Reads the authority of the server: that of the flag, of the configuration, or of bootstrap. */
export function authorityOf({ ca }: ConnectionOptions, stored: ConfigFile): string {
  if (ca !== undefined) {
    const text = readNamed(ca, '--ca');
    if (!text.includes('-----BEGIN CERTIFICATE-----'))
      throw wrongUse(`--ca: ${ca} has no certificate; name a file in PEM form`);
    return text;
  }
  if (stored.ca !== undefined) return stored.ca;
  try {
    return readFileSync(CA_FILE, 'utf8');
  } catch {
    throw wrongUse(
      `the server's certificate cannot be checked; name the file of its authority with --ca; ${CA_FILE}, which bootstrap writes, is not there`,
    );
  }
}

/** Returns the token of the flag, or of the configuration. Throws CommandFailure if there is none. */
export function tokenOf({ tokenFile }: ConnectionOptions, stored: ConfigFile): string {
  const token = tokenFile === undefined ? stored.token : readNamed(tokenFile, '--token-file').trim();
  if (token) return token;
  throw new CommandFailure(
    'there is no token; store one with "matryoshka login", or name its file with --token-file',
    EXIT.notAllowed,
  );
}

/** Codes of OpenSSL for a certificate of an authority that is not known. */
const OTHER_AUTHORITY = /UNABLE_TO_VERIFY|SELF_SIGNED|UNABLE_TO_GET_ISSUER/;

/** Returns why no answer came, with the flag to check. */
function unreachable(url: string, error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const text = messageOf(cause) || code;
  if (error instanceof SyntaxError || error instanceof z.ZodError)
    return new CommandFailure(
      `${url} answers, but not as a server of this version; check --server`,
      EXIT.unavailable,
    );
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/i.test(code))
    return new CommandFailure(
      // After the first part, Node advises its own options.
      `${url}: ${text.split(';')[0]}; ${OTHER_AUTHORITY.test(code) ? 'a new installation has a new authority, so log in again; ' : ''}check --server and --ca`,
      EXIT.unavailable,
    );
  // A user who leaves out the port means that of bootstrap.
  const port = new URL(url).port === '' ? ' (a server of bootstrap has port 32443)' : '';
  return new CommandFailure(
    `${url} does not answer: ${text}; check --server${port} and the network`,
    EXIT.unavailable,
  );
}

/** Beginning of a header `Warning` (RFC 7234, 5.5). */
const WARNING_CODE = /^[0-9]{3} \S+ /;

/** Opens the session for the time of `work`. Warnings of the server go to standard error. */
export async function withSession<T>(
  options: ConnectionOptions,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const stored = storedConfig(options);
  const server = options.server ?? stored.server;
  if (server === undefined)
    throw wrongUse('there is no server; name it with --server, or store it with "matryoshka login"');
  const token = tokenOf(options, stored);
  return connected(
    serverUrl(server),
    { ...options, token, authority: authorityOf(options, stored), stored },
    work,
  );
}

const warn = (text: string): void => {
  process.stderr.write(`${plainText(text)}\n`);
};

/** Connects to a server with a token. */
export async function connected<T>(
  url: string,
  {
    token,
    authority,
    stored,
    namespace,
    region,
  }: Pick<ConnectionOptions, 'namespace' | 'region'> & {
    token: string;
    authority: string;
    stored: ConfigFile;
  },
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const https: Https = overHttps(url, authority);
  const client: RestClient = restClient(https.send, token);
  const answerTo: Session['call'] = async (route, parts, flags) => {
    const answer = await client
      .call(route, parts)
      .catch((error: unknown) => Promise.reject(unreachable(url, error)));
    if (!answer.ok) throw refusal(answer.status, answer.error, flags);
    const { warning } = answer.headers;
    if (typeof warning === 'string') warn(warning.replace(WARNING_CODE, 'Warning: '));
    return answer.body;
  };
  const session: Session = {
    call: answerTo,
    async find(route, parts) {
      const answer: RestAnswer<z.output<typeof route.answer>> = await client
        .call(route, parts)
        .catch((error: unknown) => Promise.reject(unreachable(url, error)));
      if (answer.ok) return answer.body;
      if (answer.status === 404) return undefined;
      throw refusal(answer.status, answer.error);
    },
    async lines(path, onLine, signal, onInterrupted) {
      try {
        await https.lines(path, token, onLine, signal, onInterrupted);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof NotFollowed)) throw unreachable(url, error);
        throw new CommandFailure(error.message, EXIT.refused);
      }
    },
    namespace: namespace ?? stored.namespace ?? 'default',
    region,
  };
  try {
    return await work(session);
  } finally {
    await https.close();
  }
}
