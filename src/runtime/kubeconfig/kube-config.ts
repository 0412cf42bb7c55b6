import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { type Clock, systemClock } from '#base/clock.ts';
import { messageOf, UsageError } from '#base/errors.ts';
import type { Endpoint, EndpointParts } from '../wire/endpoint.ts';
import { type InClusterOptions, inClusterEndpoint, isInCluster } from './in-cluster.ts';
import { field, list, named, type Record_, record, text } from './kube-config-fields.ts';
import { materialOf, userHeaders } from './kube-config-user.ts';

export interface EndpointOptions extends InClusterOptions {
  /** Path of a kubeconfig file. Absent: in-cluster if a ServiceAccount is mounted, else ~/.kube/config. */
  kubeconfig?: string | undefined;
  /** Context to use. Absent: the file's current-context. */
  context?: string | undefined;
  clock?: Clock | undefined;
}

/**
 * Returns address and credentials of the API server, found as kubectl does. Rejects with a UsageError of one line that names
 * the file and its wrong part. Plain files are parsed with `yaml` alone; @kubernetes/client-node, which takes 250 ms to
 * import, is used only for plugins (exec, auth-provider).
 */
export async function loadEndpoint(options: EndpointOptions = {}): Promise<Endpoint> {
  if (options.kubeconfig === undefined && isInCluster(options)) return inClusterEndpoint(options);
  const path = options.kubeconfig ?? join(homedir(), '.kube', 'config');
  if (options.kubeconfig === undefined && !existsSync(path)) {
    throw new UsageError(`no kubeconfig given, none at ${path}, and no ServiceAccount is mounted here`);
  }
  let source: string;
  try {
    source = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`kubeconfig ${path}: ${messageOf(error)}`);
  }
  try {
    const endpoint = await parseKubeConfig(source, { path, context: options.context, clock: options.clock });
    return { ...endpoint, parts: within(path, endpoint.parts) };
  } catch (error) {
    throw new UsageError(`kubeconfig ${path}: ${messageOf(error)}`);
  }
}

/** Adds the path of the file to the names of its parts. */
function within(path: string, parts: EndpointParts | undefined): EndpointParts | undefined {
  if (!parts) return undefined;
  const at = (part: string) => `kubeconfig ${path}: ${part}`;
  return { server: at(parts.server), authority: at(parts.authority), credentials: at(parts.credentials) };
}

/** Parses a kubeconfig's text, for example from a Secret, like loadEndpoint. Relative file names start from `path`. */
export async function parseKubeConfig(
  source: string,
  {
    path = '.',
    context,
    clock = systemClock,
  }: { path?: string; context?: string | undefined; clock?: Clock | undefined } = {},
): Promise<Endpoint> {
  const config = parseYaml(source);
  const contextName = context ?? text(config, 'current-context', '');
  if (contextName === undefined || contextName === '')
    throw new Error('no current-context, and none was asked for');
  const chosen = named(config, 'contexts', 'context', contextName);
  const clusterName = field(chosen, 'cluster', `context '${contextName}'`);
  const cluster = named(config, 'clusters', 'cluster', clusterName);
  const at = `cluster '${clusterName}'`;
  const url = serverUrl(field(cluster, 'server', at), at);
  if (text(cluster, 'proxy-url', at)) throw new Error(`${at}: proxy-url is not supported`);
  const server = `${at}: server ${url}`;
  const authority = `${at}: certificate-authority`;
  const userName = text(chosen, 'user', `context '${contextName}'`) ?? '';
  const user = userName === '' ? {} : named(config, 'users', 'user', userName);

  if (user['exec'] !== undefined || user['auth-provider'] !== undefined) {
    const { pluginEndpoint } = await import('./kube-config-plugin.ts');
    const command = commandOf(user);
    const parts = { server, authority, credentials: `user '${userName}': the credential plugin ${command}` };
    return pluginEndpoint(source, {
      contextName,
      userName,
      url,
      directory: dirname(path),
      parts,
      clock,
      command,
    });
  }
  const files = { directory: dirname(path), clock };
  const material = materialOf({ cluster, clusterName, user, userName }, files);
  const auth = userHeaders(user, userName, files);
  // The material is read once now, so a missing file is an error of start-up and not of the first call.
  material.tls();
  auth.headers();
  return {
    url,
    parts: { server, authority, credentials: credentialsOf(user, userName) },
    tls: material.tls,
    headers: auth.headers,
    refresh() {
      material.refresh();
      auth.refresh();
    },
  };
}

/** Returns the names of the fields with which a user authenticates, for errors. */
function credentialsOf(user: Record_, userName: string): string {
  const fields = ['tokenFile', 'token', 'client-certificate', 'client-certificate-data'];
  const given = fields.filter((name) => user[name] !== undefined).join(', ');
  return userName === '' ? 'no user at all' : `user '${userName}': ${given || 'no credentials'}`;
}

/** Returns a plugin's name, for errors. */
function commandOf(user: Record_): string {
  const command = record(user['exec'])?.['command'] ?? record(user['auth-provider'])?.['name'];
  return typeof command === 'string' ? command : 'without a command';
}

function parseYaml(source: string): Record_ {
  let value: unknown;
  try {
    value = parse(source);
  } catch (error) {
    throw new Error(`not YAML: ${messageOf(error).split('\n')[0]}`);
  }
  const config = record(value);
  if (!config) throw new Error('not a kubeconfig');
  for (const part of ['clusters', 'contexts', 'users']) list(config, part);
  return config;
}

function serverUrl(server: string, at: string): string {
  const url = URL.parse(server);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Error(`${at}: server '${server}' is no http(s) URL`);
  }
  return url.href.replace(/\/$/, '');
}
