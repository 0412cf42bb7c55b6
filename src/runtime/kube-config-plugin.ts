import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { messageOf } from '#base/errors.ts';
import type { Endpoint, Headers, TlsMaterial } from './endpoint.ts';

/**
 * An endpoint whose credentials a plugin gives (exec, auth-provider), through @kubernetes/client-node, which
 * caches them until they expire. Imported lazily: see loadEndpoint.
 */
export async function pluginEndpoint(
  source: string,
  {
    contextName,
    userName,
    url,
    directory,
  }: { contextName: string; userName: string; url: string; directory: string },
): Promise<Endpoint> {
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
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new Error(
        `user '${userName}': the credential plugin failed: ${messageOf(error).trim().split('\n')[0]}`,
      );
    }
    const authorization = headerOf(options.headers, 'authorization');
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
    tls: async () => (await ask()).tls,
    headers: async () => (await ask()).headers,
    // A new KubeConfig has an empty credential cache.
    refresh: () => {
      config = load();
    },
  };
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
