import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { orAborted } from '#base/abort.ts';
import type { Clock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Endpoint, EndpointParts, Headers, TlsMaterial } from '../wire/endpoint.ts';

/** Limit of a plugin, which may ask a user or a remote server. The error names the plugin. */
const PATIENCE_MS = 60_000;

/**
 * Returns an endpoint with credentials from a plugin (exec, auth-provider), through @kubernetes/client-node, which caches
 * them until they expire. Imported lazily: see loadEndpoint.
 */
export async function pluginEndpoint(
  source: string,
  {
    contextName,
    userName,
    url,
    directory,
    parts,
    clock,
    command,
  }: {
    contextName: string;
    userName: string;
    url: string;
    directory: string;
    parts: EndpointParts;
    clock: Clock;
    /** Name of the plugin, for errors. */
    command: string;
  },
): Promise<Endpoint> {
  const says = `user '${userName}': the credential plugin ${command}`;
  const load = () => {
    const config = new KubeConfig();
    config.loadFromString(source);
    config.makePathsAbsolute(directory);
    config.setCurrentContext(contextName);
    return config;
  };
  let config = load();
  const ask = async (): Promise<{ tls: TlsMaterial; headers: Headers }> => {
    const options: RequestOptions = {};
    const patience = new AbortController();
    const cancel = clock.after(PATIENCE_MS, () => {
      patience.abort(new Error(`no answer within ${PATIENCE_MS / 1000} s`));
    });
    try {
      await orAborted(config.applyToHTTPSOptions(options), patience.signal);
    } catch (error) {
      throw new Error(`${says} failed: ${oneLine(error)}`);
    } finally {
      cancel();
    }
    const authorization = headerOf(options.headers, 'authorization');
    if (authorization === undefined && options.cert === undefined) {
      throw new Error(`${says} gave neither a token nor a certificate`);
    }
    return {
      tls: {
        ca: pemText(options.ca),
        cert: pemText(options.cert),
        key: pemText(options.key),
        servername: options.servername,
        ...(options.rejectUnauthorized === false ? { rejectUnauthorized: false } : {}),
      },
      headers: authorization === undefined ? {} : { authorization },
    };
  };
  await ask();
  return {
    url,
    parts,
    tls: async () => (await ask()).tls,
    headers: async () => (await ask()).headers,
    // A new KubeConfig has an empty credential cache.
    refresh: () => {
      config = load();
    },
  };
}

/** Returns the first line of a plugin's error. An answer in another format is a bug of the plugin. */
function oneLine(error: unknown): string {
  if (error instanceof SyntaxError || error instanceof TypeError) return 'it printed no ExecCredential';
  return messageOf(error).trim().split('\n')[0] || 'it said nothing';
}

function pemText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined;
}

function headerOf(headers: unknown, name: string): string | undefined {
  const pairs = typeof headers === 'object' && headers !== null ? Object.entries(headers) : [];
  const value: unknown = pairs.find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'string' ? value : undefined;
}
