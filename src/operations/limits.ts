import ipaddr from 'ipaddr.js';
import { parse } from 'yaml';
import { z } from 'zod';
import { contains, parseCidr } from '#api/cidr.ts';
import { canonicalIp, DNS_LABEL, LISTS } from '#api/host.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';

/** ConfigMap of the operator's namespace with the limits of the site, and its key. */
const LIMITS_CONFIG_MAP = 'matryoshka-limits';
export const LIMITS_KEY = 'limits.yaml';

/** The longest `timeout_mins` if the site sets none. */
const TIMEOUT_MINUTES = 1440;

const networkSchema = z
  .string()
  .refine((text) => parseCidr(text) !== undefined, { error: 'is not a CIDR; write it like 10.0.0.0/16' });
const countSchema = z.number().int().min(0).max(1_000_000);
const limitSchema = z.strictObject({
  /** Most clusters of a namespace. */
  clusters: countSchema.optional(),
  /** Most addresses that the clusters of a namespace name together, including spares. */
  hosts: countSchema.optional(),
  /** The networks in which these addresses must be. */
  networks: z.array(networkSchema).max(1000).optional(),
  timeoutMinutes: z.number().int().min(1).max(999_999).optional(),
});
const limitsSchema = z.strictObject({
  default: limitSchema.default({}),
  namespaces: z.record(z.string().regex(DNS_LABEL, { error: 'is not a namespace' }), limitSchema).default({}),
});

/** The limits of one namespace's clusters; an absent field is no limit. */
type Limit = z.infer<typeof limitSchema>;
export type Limits = z.infer<typeof limitsSchema>;
/** The limits of the site, or the reason why they are unknown. */
export type LimitsRead = { limits: Limits } | { problem: string };

const WHERE = `key ${LIMITS_KEY} of ConfigMap ${LIMITS_CONFIG_MAP}`;

/**
 * Returns the limits of a ConfigMap without the key: none, unless it has another key. The other key is probably misspelled,
 * and a site that sets limits must not run without them.
 */
export function limitsWithout(others: readonly string[]): LimitsRead {
  if (others.length === 0) return parseLimits(undefined);
  const names = others.map((name) => JSON.stringify(name)).join(', ');
  return { problem: `ConfigMap ${LIMITS_CONFIG_MAP} has no key ${LIMITS_KEY}, but ${names}; rename it` };
}

/** Parses the limits of a site; a missing text sets none. */
export function parseLimits(text: string | undefined): LimitsRead {
  if (text === undefined) return { limits: limitsSchema.parse({}) };
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    return { problem: `${WHERE} is not YAML` };
  }
  const parsed = limitsSchema.safeParse(value ?? {});
  if (parsed.success) return { limits: parsed.data };
  const [issue] = parsed.error.issues;
  return { problem: `${WHERE}: ${issue?.path.join('.') || 'it'}: ${issue?.message}` };
}

/** A write of a cluster, with the facts that limits apply to. */
export interface LimitedWrite {
  /** Undefined if the object is being created. */
  old: Pick<KubernetesCluster, 'spec'> | undefined;
  next: Pick<KubernetesCluster, 'spec'>;
  namespace: string;
  name: string;
}

/** Returns the field of each address in a spec, by canonical address. */
function addressesOf({ cluster, policy }: Spec): Map<string, string> {
  const places = new Map<string, string>();
  const lists = [
    ...LISTS.map((list) => [`spec.cluster.${list}`, cluster[list] ?? []] as const),
    ['spec.policy.replaceFrom', policy?.replaceFrom ?? []] as const,
  ];
  for (const [field, hosts] of lists)
    for (const [index, { ip }] of hosts.entries()) {
      const address = canonicalIp(ip) ?? ip;
      if (!places.has(address)) places.set(address, `${field}[${index}].ip`);
    }
  return places;
}

const timeoutOf = ({ cluster }: Spec): number => Number(cluster.timeout_mins ?? 0);

/**
 * Returns the problems of a write that exceeds the limits of its namespace. Only what a write adds is judged, so that a
 * cluster from before a limit can be edited, repaired and deleted. `clustersIn` lists the clusters of a namespace.
 */
export async function limitProblems(
  { old, next, namespace, name }: LimitedWrite,
  read: () => LimitsRead,
  clustersIn: (namespace: string) => Promise<readonly KubernetesCluster[]>,
): Promise<Problem[]> {
  const before = old ? addressesOf(old.spec) : new Map<string, string>();
  const added = [...addressesOf(next.spec)].filter(([address]) => !before.has(address));
  const isLonger = timeoutOf(next.spec) > (old ? timeoutOf(old.spec) : 0);
  if (old && added.length === 0 && !isLonger) return [];
  const known = read();
  if ('problem' in known) {
    const reason = `cannot be checked against the limits of this site: ${known.problem}; an administrator must correct it`;
    return [{ field: 'spec.cluster', reason }];
  }
  const limit: Limit = { ...known.limits.default, ...known.limits.namespaces[namespace] };
  const problems = [
    ...networkProblems(added, limit, namespace),
    ...timeoutProblems(next.spec, isLonger, limit),
  ];
  const counts = (!old && limit.clusters !== undefined) || (added.length > 0 && limit.hosts !== undefined);
  if (!counts) return problems;
  const others = (await clustersIn(namespace)).filter(({ metadata }) => metadata.name !== name);
  return [...problems, ...countProblems({ old, next, namespace, name }, others, limit)];
}

function networkProblems(
  added: readonly (readonly [address: string, field: string])[],
  { networks }: Limit,
  namespace: string,
): Problem[] {
  if (networks === undefined) return [];
  const allowed = networks.map(parseCidr).filter((network) => network !== undefined);
  return added
    .filter(([address]) => {
      if (!ipaddr.isValid(address)) return false;
      // An IPv4 address in IPv6 notation counts as that IPv4 address.
      const parsed = ipaddr.process(address);
      return !allowed.some((network) => contains(network, parsed));
    })
    .map(([address, field]) => ({
      field,
      value: address,
      reason: `${address} is in no network that namespace "${namespace}" may name hosts of (${networks.join(', ') || 'none'}); ${ASK}`,
    }));
}

function timeoutProblems(
  spec: Spec,
  isLonger: boolean,
  { timeoutMinutes = TIMEOUT_MINUTES }: Limit,
): Problem[] {
  const value = timeoutOf(spec);
  if (!isLonger || value <= timeoutMinutes) return [];
  const reason = `is more than the ${timeoutMinutes} minutes that an operation may take here; write at most "${timeoutMinutes}"`;
  return [{ field: 'spec.cluster.timeout_mins', value: String(value), reason }];
}

function countProblems(
  { old, next, namespace, name }: LimitedWrite,
  others: readonly KubernetesCluster[],
  { clusters, hosts }: Limit,
): Problem[] {
  const problems: Problem[] = [];
  if (!old && clusters !== undefined && others.length >= clusters) {
    const reason = `is one more than the ${clusters} clusters that namespace "${namespace}" may have; delete one, or ${ASK}`;
    problems.push({ field: 'metadata.name', value: name, reason });
  }
  const named = new Set(others.flatMap(({ spec }) => [...addressesOf(spec).keys()]));
  const had = new Set([...named, ...(old ? addressesOf(old.spec).keys() : [])]).size;
  const has = new Set([...named, ...addressesOf(next.spec).keys()]).size;
  if (hosts !== undefined && has > hosts && has > had) {
    const reason = `names hosts with which namespace "${namespace}" would have ${has}, and it may have ${hosts}; take some out, or ${ASK}`;
    problems.push({ field: 'spec.cluster', reason });
  }
  return problems;
}

const ASK = `ask an administrator for another limit (ConfigMap ${LIMITS_CONFIG_MAP})`;
