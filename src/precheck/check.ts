import type { z } from 'zod';
import type { Said } from './said.ts';

/** The role of a host in this operation. */
export type HostRole = 'control-plane' | 'worker' | 'etcd' | 'leaving' | 'present';

/** One host as the checks see it. */
export interface CheckedHost {
  /** Node name. */
  name: string;
  ip: string;
  role: HostRole;
  /** Whether a member of etcd is to run there, whatever else it is. */
  withEtcd?: boolean;
  /** Whether kubeadm makes that member, and refuses a folder of data that is not empty. */
  kubeadmMakesEtcd?: boolean;
  /** Whether it is a control plane, whatever its role in this operation. */
  isMaster?: boolean;
  /** Whether the API servers are reached through a balancer of the site's, so that nodes need no way to them. */
  behindBalancer?: boolean;
  said: Said;
  /** The operation's cluster. */
  clusterId: string;
  /** Ids of the clusters of the same namespace, which messages may name. */
  ownClusters?: readonly string[] | undefined;
  /** The cluster whose remains may be wiped here. */
  reclaim?: string | undefined;
}

/** A host before it is asked. */
export type AskedHost = Omit<CheckedHost, 'said'>;

export interface CheckContext {
  host: CheckedHost;
  /** Every host of the operation that could be reached, this one included. */
  all: readonly CheckedHost[];
  /** Values of `precheck_limits`, each read by the check that declares it. */
  limits: Limits;
  /** CIDRs of the pods and the Services, where the run makes hosts part of a cluster. */
  networks: readonly string[];
  /** The pod network, as `addons.network` names it. */
  podNetwork: string;
  /** Our own clock when the host was asked and when it had answered, in ms since 1970. */
  askedAtMs: number;
  answeredAtMs: number;
}

export interface Findings {
  warnings: string[];
  errors: string[];
}

/** Input of the scripts. */
export interface ScriptInput {
  /** A URL that answers when the artifacts can be had. */
  artifactUrl?: string | undefined;
}

/** A check of hosts: what the host is asked, what it must at least have, and what follows from its answer. */
export interface Check {
  name: string;
  /** POSIX shell that changes nothing and answers by `say KEY VALUE`; run with those of all checks, in one command. */
  script?: (input: ScriptInput) => string;
  /** Whether its script waits for other hosts; it then runs beside those of other checks. */
  waits?: true;
  /** Variables that its script finds on a host, by name; every host of the operation is given. */
  variables?: (host: AskedHost, all: readonly AskedHost[]) => Readonly<Record<string, string>>;
  /** Its part of `precheck_limits`, with defaults. */
  limits?: z.ZodObject;
  /** The answer of a host without problems. */
  good: string;
  check(context: CheckContext): Findings;
}

/** The least that a host must have; a site may lower them (variable `precheck_limits`). */
export type Limits = Readonly<Record<string, unknown>>;

export const fine: Findings = { warnings: [], errors: [] };
export const error = (...errors: string[]): Findings => ({ warnings: [], errors });
export const warning = (...warnings: string[]): Findings => ({ warnings, errors: [] });

/** Whether the host is to become part of the cluster; one that is part of it or leaves it is not measured again. */
export const joins = ({ host }: CheckContext): boolean => host.role !== 'leaving' && host.role !== 'present';
