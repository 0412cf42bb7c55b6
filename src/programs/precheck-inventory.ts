import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { cidrsSchema } from '#api/cidr.ts';
import { addonsSchema } from '#api/cluster-addons.ts';
import { canonicalIp, hostSchema, LISTS } from '#api/host.ts';
import { DEFAULTS, endpointSchema } from '#api/kubernetes-cluster.ts';
import { readPrivateKey } from '#api/ssh-key.ts';
import { messageOf, UsageError } from '#base/errors.ts';
import { type PrecheckRequest, precheckHosts } from './precheck-hosts.ts';

const hostList = z.array(z.strictObject(hostSchema.shape)).max(1000).optional();

/** Schema of hosts.yaml: lists and networks named as in a KubernetesCluster, and the login. Secrets are in files. */
export const inventorySchema = z.strictObject({
  masterList: hostList,
  nodeList: hostList,
  etcdList: hostList,
  externalLoadBalancer: endpointSchema.optional(),
  podCIDR: cidrsSchema.default(DEFAULTS.podCIDR),
  serviceCIDR: cidrsSchema.default(DEFAULTS.serviceCIDR),
  network: addonsSchema.shape.network.unwrap().default(DEFAULTS.network),
  username: hostSchema.shape.user.unwrap().default('root'),
  port: hostSchema.shape.port,
  sshKeyFile: z.string().optional(),
  passwordFile: z.string().optional(),
  knownHostsFile: z.string().optional(),
  precheckLimits: z.record(z.string(), z.unknown()).optional(),
});

type Path = readonly PropertyKey[];
const fieldOf = (path: Path): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');

/** Returns the value at a path of the input. */
function valueAt(given: unknown, [first, ...rest]: Path): unknown {
  if (first === undefined) return given;
  if (typeof given !== 'object' || given === null) return undefined;
  return valueAt(new Map<PropertyKey, unknown>(Object.entries(given)).get(String(first)), rest);
}

/** Describes a fault at one place: the field, its value, the reason. */
function wrongAt(given: unknown, issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const fields = issue.path.length === 0 ? inventorySchema.shape : hostSchema.shape;
      return `${fieldOf([...issue.path, key])}: is no field here; there are ${Object.keys(fields).join(', ')}`;
    });
  const value = valueAt(given, issue.path);
  const shown = value === undefined ? '' : ` ${JSON.stringify(value).slice(0, 80)}`;
  return [`${fieldOf(issue.path)}:${shown} ${issue.message}`];
}

const readText = (path: string, what: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${what}: ${path} cannot be read (${messageOf(error)})`);
  }
};

/** Reads hosts.yaml and the files that it names. Throws UsageError that names every wrong field. */
export function readInventory(path: string, knownHostsFile: string | undefined): PrecheckRequest {
  const text = readText(path, '--inventory');
  let given: unknown;
  try {
    given = parse(text);
  } catch (error) {
    throw new UsageError(`${path}: is no YAML: ${messageOf(error)}`);
  }
  const parsed = inventorySchema.safeParse(given);
  if (!parsed.success)
    throw new UsageError(
      parsed.error.issues
        .flatMap((issue) => wrongAt(given, issue))
        .map((line) => `${path}: ${line}`)
        .join('\n'),
    );
  const { data } = parsed;
  const entries = LISTS.flatMap((list) =>
    (data[list] ?? []).map(({ ip }, index) => ({ ip, at: `${list}[${index}].ip`, list })),
  );
  const twice = entries.filter(({ ip, list }, index) =>
    entries.slice(0, index).some((one) => one.list === list && canonicalIp(one.ip) === canonicalIp(ip)),
  );
  if (twice.length > 0)
    throw new UsageError(
      twice.map(({ ip, at }) => `${path}: ${at}: ${ip} is in this list already; name a host once`).join('\n'),
    );
  if (entries.length === 0)
    throw new UsageError(`${path}: names no host; list them in masterList, nodeList or etcdList`);
  const at = (file: string): string =>
    file.startsWith('~/') ? join(homedir(), file.slice(2)) : resolve(dirname(path), file);
  const fileOf = (field: 'sshKeyFile' | 'passwordFile' | 'knownHostsFile'): string | undefined => {
    const file = data[field];
    return file === undefined ? undefined : readText(at(file), `${path}: ${field}`);
  };
  const [keyText, password] = [fileOf('sshKeyFile'), fileOf('passwordFile')?.trim()];
  const key = keyText === undefined ? undefined : readPrivateKey(keyText);
  if (key && 'reason' in key) throw new UsageError(`${path}: sshKeyFile: ${data.sshKeyFile} ${key.reason}`);
  const privateKey = key?.pem;
  if (privateKey === undefined && password === undefined)
    throw new UsageError(`${path}: sshKeyFile: is missing; name the file of a private key, or passwordFile`);
  const pinned =
    knownHostsFile === undefined ? fileOf('knownHostsFile') : readText(knownHostsFile, '--known-hosts');
  const withPort = <T extends { port?: number | undefined }>(list: readonly T[] | undefined) =>
    list?.map((host) => ({
      ...host,
      ...(data.port === undefined || host.port !== undefined ? {} : { port: data.port }),
    }));
  const lists = {
    masterList: withPort(data.masterList),
    nodeList: withPort(data.nodeList),
    etcdList: withPort(data.etcdList),
    externalLoadBalancer: data.externalLoadBalancer,
  };
  const login = { username: data.username, privateKey, password, knownHosts: pinned ?? '' };
  return {
    hosts: precheckHosts(lists, login, ''),
    networks: [data.podCIDR, data.serviceCIDR],
    podNetwork: data.network,
    limits: data.precheckLimits,
  };
}
