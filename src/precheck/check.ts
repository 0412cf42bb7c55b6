import type { z } from 'zod';
import type { Said } from './said.ts';

/** Role of a host in this operation. */
export type HostRole = 'control-plane' | 'worker' | 'etcd' | 'leaving' | 'present';

/** Host as the checks see it. */
export interface CheckedHost {
  /** Node name. */
  name: string;
  ip: string;
  role: HostRole;
  /** Whether an etcd member runs there, in addition to its role. */
  withEtcd?: boolean;
  /** Whether kubeadm creates that member, and refuses a data directory that is not empty. */
  kubeadmMakesEtcd?: boolean;
  /** Whether it is a control plane, independently of its role in this operation. */
  isMaster?: boolean;
  /** The Kubernetes version to which this operation upgrades the host. */
  upgradeTo?: string | undefined;
  /** Whether nodes reach the API servers through a balancer of the site, and so need no direct connection to them. */
  behindBalancer?: boolean;
  said: Said;
  /** Cluster of the operation. */
  clusterId: string;
  /** Ids of the clusters in the same namespace, which messages may name. */
  ownClusters?: readonly string[] | undefined;
  /** Cluster whose remains may be wiped here. */
  reclaim?: string | undefined;
}

/** Host before the checks ask it. */
export type AskedHost = Omit<CheckedHost, 'said'>;

export interface CheckContext {
  host: CheckedHost;
  /** Reachable hosts of the operation, including this one. */
  all: readonly CheckedHost[];
  /** Values of `precheck_limits`; each check reads those that it declares. */
  limits: Limits;
  /** CIDRs of the pods and the Services, if the run adds hosts to a cluster. */
  networks: readonly string[];
  /** Pod network, named as in `addons.network`. */
  podNetwork: string;
  /** Local clock at the question to the host and at its answer, in ms since 1970. */
  askedAtMs: number;
  answeredAtMs: number;
}

export interface Findings {
  warnings: string[];
  errors: string[];
}

/** Input of the scripts. */
export interface ScriptInput {
  /** URL that answers if the artifacts are available. */
  artifactUrl?: string | undefined;
}

/** Check of hosts: its questions to the host, its limits, and its judgement of the answers. */
export interface Check {
  name: string;
  /**
   * POSIX shell that changes nothing and answers with `say KEY VALUE`; it runs in one command with the scripts of all
   * checks.
   */
  script?: (input: ScriptInput) => string;
  /** Whether its script waits for other hosts; it then runs in parallel with the scripts of other checks. */
  waits?: true;
  /** Variables of its script on a host, by name; `all` has every host of the operation. */
  variables?: (host: AskedHost, all: readonly AskedHost[]) => Readonly<Record<string, string>>;
  /** Limits of the check in `precheck_limits`, with defaults. */
  limits?: z.ZodObject;
  /** Answers of a host that passes: every key that the script prints. A test runs the script and compares. */
  good: string;
  check(context: CheckContext): Findings;
}

/** Minimums of a host, which a site may lower (variable `precheck_limits`). */
export type Limits = Readonly<Record<string, unknown>>;

export const fine: Findings = { warnings: [], errors: [] };
export const error = (...errors: string[]): Findings => ({ warnings: [], errors });
export const warning = (...warnings: string[]): Findings => ({ warnings, errors: [] });

/** Whether the host joins the cluster; a present or leaving host is not measured again. */
export const joins = ({ host }: CheckContext): boolean => host.role !== 'leaving' && host.role !== 'present';
