import type { HostFacts } from './facts.ts';

/** What a host is to be in this operation. */
export type HostRole = 'control-plane' | 'worker' | 'leaving' | 'present';

/** One host as the checks see it. */
export interface CheckedHost {
  /** Node name. */
  name: string;
  ip: string;
  role: HostRole;
  facts: HostFacts;
  /** The operation's cluster. */
  clusterId: string;
  /** The cluster whose remains may be wiped here. */
  reclaim?: string | undefined;
}

export interface CheckContext {
  host: CheckedHost;
  /** Every host of the operation that could be reached, this one included. */
  all: readonly CheckedHost[];
  limits: Limits;
  /** Our own clock when the facts were asked for, in ms since 1970. */
  askedAtMs: number;
}

export interface Findings {
  warnings: string[];
  errors: string[];
}

export interface Check {
  name: string;
  check(context: CheckContext): Findings;
}

/** The least that a host must have; a site may lower them (variable `precheck_limits`). */
export interface Limits {
  cpus: number;
  memoryMiB: number;
  diskGiB: number;
  clockSkewSeconds: number;
  /** Whether swap is an error; the kubelet refuses it unless it is configured otherwise. */
  swap: boolean;
}

/** kubeadm's own preflight limits (kubernetes.io, Installing kubeadm, Before you begin), and room for images. */
export const DEFAULT_LIMITS: Limits = {
  cpus: 2,
  memoryMiB: 1700,
  diskGiB: 8,
  clockSkewSeconds: 10,
  swap: false,
};

export const fine: Findings = { warnings: [], errors: [] };
export const error = (...errors: string[]): Findings => ({ warnings: [], errors });

/** Whether the host is to become part of the cluster; one that is part of it or leaves it is not measured again. */
export const joins = ({ host }: CheckContext): boolean =>
  host.role === 'control-plane' || host.role === 'worker';

/** Whether the host was taken by this very cluster before, so that what is on it is ours to mend. */
export const isOurs = ({ host }: CheckContext): boolean =>
  host.facts.owner !== undefined &&
  host.facts.owner.clusterId === host.clusterId &&
  !host.facts.owner.released;
