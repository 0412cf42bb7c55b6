import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Limits } from '#precheck/check.ts';
import { checks } from '#precheck/index.ts';
import { limitsOf } from '#precheck/limits.ts';
import { RUN_SPEC_FILE, type RunSpec, runSpecSchema } from '#protocol/run-spec.ts';
import {
  SCRATCH,
  SNAPSHOT_ACCESS_FILE,
  type SnapshotAccess,
  snapshotAccessSchema,
} from '#protocol/snapshot.ts';

const artifactsSchema = z.object({
  baseUrl: z.string(),
  releases: z.record(z.string(), z.record(z.string(), z.unknown())),
});
export type SiteArtifacts = z.infer<typeof artifactsSchema>;

const siteVarsSchema = z.record(z.string(), z.unknown());
const kubeletSchema = z.object({
  evictionHard: z.record(z.string(), z.string()).optional(),
  resolvConf: z.string().optional(),
  failSwapOn: z.boolean().optional(),
});

/** Settings of the program. The run spec describes the work; the environment has only paths and addresses. */
const environmentSchema = z.object({
  POD_UID: z.string(),
  /** Absent in a run by hand: the report then goes to REPORT_FILE. */
  SERVER_URL: z.string().optional(),
  REPORT_FILE: z.string().optional(),
  /** Collector of spans (OTLP/HTTP); absent: none. */
  OTLP_ENDPOINT: z.string().optional(),
  PLAYBOOKS: z.string().default('/opt/matryoshka/ansible'),
  MATRYOSHKA_ETC: z.string().default('/etc/matryoshka'),
  TOKEN_FILE: z.string().default('/var/run/secrets/matryoshka/token'),
  SCRATCH_DIR: z.string().default(SCRATCH),
  WORK_DIR: z.string().default('/run/matryoshka'),
  TERMINATION_LOG: z.string().default('/dev/termination-log'),
});

/** SSH credentials from the Job's Secret. */
export interface RunAccess {
  privateKey?: string;
  password?: string;
  knownHosts: string;
  registryLogin?: string;
  snapshots?: SnapshotAccess;
}

/** Settings of one run, from its run spec, its environment and its mounts. */
export interface Settings extends z.infer<typeof environmentSchema> {
  runSpec: RunSpec;
  artifacts: SiteArtifacts;
  /** The site's values of role variables. */
  siteVars: Record<string, unknown>;
  limits: Limits;
  access: RunAccess;
  caFile: string;
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Reads the run spec from a file. Throws if the file is missing or invalid. */
export function readRunSpec(path: string): RunSpec {
  const text = readOptional(path);
  if (text === undefined) throw new Error(`there is no run spec at ${path}`);
  const parsed = runSpecSchema.safeParse(JSON.parse(text));
  if (!parsed.success)
    throw new Error(`the run spec at ${path} is not usable: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Reads the SSH credentials from the files below `etc`. */
export function readAccess(etc: string): RunAccess {
  const privateKey = readOptional(join(etc, 'access/ssh-privatekey'));
  const password = readOptional(join(etc, 'access/password'));
  const snapshots = readOptional(join(etc, 'access', SNAPSHOT_ACCESS_FILE));
  const registryLogin = readOptional(join(etc, 'access/registry-login'));
  return {
    ...(privateKey === undefined ? {} : { privateKey }),
    ...(password === undefined ? {} : { password }),
    ...(registryLogin === undefined ? {} : { registryLogin }),
    ...(snapshots === undefined ? {} : { snapshots: snapshotAccessSchema.parse(JSON.parse(snapshots)) }),
    knownHosts: readOptional(join(etc, 'access/known_hosts')) ?? '',
  };
}

/** Reads the environment and the mounted files. Throws with the name of a missing or malformed one. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const parsed = environmentSchema.parse(environment);
  const etc = parsed.MATRYOSHKA_ETC;
  const siteVars = siteVarsSchema.parse(
    parse(readOptional(join(etc, 'site/inventory-vars.yaml')) ?? '{}') ?? {},
  );
  const { precheck_limits: limits, ...roleVars } = siteVars;
  return {
    ...parsed,
    runSpec: readRunSpec(join(etc, 'access', RUN_SPEC_FILE)),
    artifacts: artifactsSchema.parse(JSON.parse(readOptional(join(etc, 'site/artifacts.json')) ?? '{}')),
    siteVars: roleVars,
    limits: limitsOf(checks, {
      ...swapIn(roleVars),
      ...z
        .object({})
        .loose()
        .parse(limits ?? {}),
      ...thresholdsIn(roleVars),
      ...nameServersIn(roleVars),
    }),
    access: readAccess(etc),
    caFile: join(etc, 'ca/ca.crt'),
  };
}

/** Returns the space that the kubelet keeps free, which counts as a limit too. */
const thresholdsIn = ({ kubelet_config }: Record<string, unknown>) => {
  const { evictionHard } = kubeletSchema.parse(kubelet_config ?? {});
  return evictionHard === undefined ? {} : { evictionHard };
};

/** Whether pods get name servers that the site chooses: the host's own are not checked then. */
const nameServersIn = ({
  kubelet_config,
  kubelet_resolv_conf_nameservers: servers,
}: Record<string, unknown>) => {
  const { resolvConf } = kubeletSchema.parse(kubelet_config ?? {});
  return resolvConf !== undefined || (Array.isArray(servers) && servers.length > 0)
    ? { ownNameServers: true }
    : {};
};

/** Whether the site configures kubelets to start with swap on. */
const swapIn = ({ kubelet_config }: Record<string, unknown>) =>
  kubeletSchema.parse(kubelet_config ?? {}).failSwapOn === false ? { swap: true } : {};
