import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { DEFAULT_LIMITS, type Limits } from '#precheck/check.ts';

const hostVarsSchema = z.looseObject({
  ansible_host: z.string(),
  ip: z.string(),
  ansible_port: z.number(),
  ansible_user: z.string(),
  schedulable: z.boolean().optional(),
  reclaim: z.string().optional(),
});
const groupSchema = z.object({ hosts: z.record(z.string(), hostVarsSchema).default({}) });
const inventorySchema = z.object({
  all: z.object({
    vars: z.record(z.string(), z.unknown()),
    children: z.object({
      'kube-master': groupSchema,
      'kube-node': groupSchema,
      etcd: groupSchema,
      leaving: groupSchema,
    }),
  }),
});
export type JobInventory = z.infer<typeof inventorySchema>;

const artifactsSchema = z.object({
  baseUrl: z.string(),
  releases: z.record(z.string(), z.record(z.string(), z.unknown())),
});
export type SiteArtifacts = z.infer<typeof artifactsSchema>;

const siteVarsSchema = z.record(z.string(), z.unknown());
const limitsSchema = z.object({
  cpus: z.number().optional(),
  memoryMiB: z.number().optional(),
  diskGiB: z.number().optional(),
  clockSkewSeconds: z.number().optional(),
  swap: z.boolean().optional(),
});

const environmentSchema = z.object({
  OPERATION: z.enum(['create', 'scale-up', 'scale-down', 'delete', 'fetch']),
  CLUSTER_NAME: z.string(),
  CLUSTER_NAMESPACE: z.string(),
  CLUSTER_REGION: z.string().default(''),
  CLUSTER_ID: z.string(),
  SEQUENCE: z.coerce.number(),
  ATTEMPT: z.coerce.number(),
  JOB_NAME: z.string(),
  POD_UID: z.string(),
  HOSTS_YAML: z.string(),
  MASTER_HOSTS: z.string().default(''),
  NODE_HOSTS: z.string().default(''),
  ETCD_HOSTS: z.string().default(''),
  /** Absent when run by hand: the report then goes to REPORT_FILE. */
  SERVER_URL: z.string().optional(),
  REPORT_FILE: z.string().optional(),
  PLAYBOOKS: z.string().default('/opt/matryoshka/ansible'),
  MATRYOSHKA_ETC: z.string().default('/etc/matryoshka'),
  TOKEN_FILE: z.string().default('/var/run/secrets/matryoshka/token'),
  WORK_DIR: z.string().default('/run/matryoshka'),
  TERMINATION_LOG: z.string().default('/dev/termination-log'),
});

/** Everything that one run was told, from its environment and its mounts. */
export interface Settings extends z.infer<typeof environmentSchema> {
  inventory: JobInventory;
  artifacts: SiteArtifacts;
  /** The site's own values of role variables. */
  siteVars: Record<string, unknown>;
  limits: Limits;
  access: { privateKey?: string; password?: string; knownHosts: string };
  caFile: string;
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Reads the environment and the mounted files. Throws with the name of what is missing or malformed. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const parsed = environmentSchema.parse(environment);
  const etc = parsed.MATRYOSHKA_ETC;
  const siteVars = siteVarsSchema.parse(
    parse(readOptional(join(etc, 'site/inventory-vars.yaml')) ?? '{}') ?? {},
  );
  const { precheck_limits: limits, ...roleVars } = siteVars;
  const privateKey = readOptional(join(etc, 'access/ssh-privatekey'));
  const password = readOptional(join(etc, 'access/password'));
  return {
    ...parsed,
    inventory: inventorySchema.parse(parse(parsed.HOSTS_YAML)),
    artifacts: artifactsSchema.parse(JSON.parse(readOptional(join(etc, 'site/artifacts.json')) ?? '{}')),
    siteVars: roleVars,
    limits: limitsOf(limits),
    access: {
      ...(privateKey === undefined ? {} : { privateKey }),
      ...(password === undefined ? {} : { password }),
      knownHosts: readOptional(join(etc, 'access/known_hosts')) ?? '',
    },
    caFile: join(etc, 'ca/ca.crt'),
  };
}

function limitsOf(value: unknown): Limits {
  const given = limitsSchema.parse(value ?? {});
  return {
    cpus: given.cpus ?? DEFAULT_LIMITS.cpus,
    memoryMiB: given.memoryMiB ?? DEFAULT_LIMITS.memoryMiB,
    diskGiB: given.diskGiB ?? DEFAULT_LIMITS.diskGiB,
    clockSkewSeconds: given.clockSkewSeconds ?? DEFAULT_LIMITS.clockSkewSeconds,
    swap: given.swap ?? DEFAULT_LIMITS.swap,
  };
}
