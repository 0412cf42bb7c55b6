import type { Spec } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import type { OperationName } from '#api/words.ts';
import type { HostPlan } from '#operations/members.ts';

/** Names one run of an operation; Jobs, fences and reports derive from it. */
export interface AttemptRef {
  clusterId: string;
  sequence: number;
  attempt: number;
  /** Name of the Job: `<prefix>-<id>-<attempt>`. */
  job: string;
}

/** How hosts are reached. Secret: never logged, never in a status. */
export interface Access {
  username: string;
  privateKey?: string;
  password?: string;
  /** Lines of known_hosts (sshd(8)); hosts without one are taken at first sight. */
  knownHosts: string;
}

/** Everything that a run needs; a snapshot, so later edits do not touch it. */
export interface Attempt extends AttemptRef {
  cluster: ObjectKey;
  operation: OperationName | 'fetch';
  /** Resolved: no default is left open. */
  spec: Spec;
  plan: HostPlan;
  /** Ids of clusters whose remains may be wiped, by canonical IP. */
  reclaims: ReadonlyMap<string, string>;
  deadlineSeconds: number;
  access: Access;
}

/** What became of one host. */
export interface HostOutcome {
  ip: string;
  ok: boolean;
  message?: string;
}

/** What a run says of itself at its end. */
export interface Report {
  success: boolean;
  message: string;
  /** Short machine-readable cause of a failure, in CamelCase: `HostUnreachable`, `PrecheckFailed`. */
  reason?: string;
  kubeconfig?: string;
  knownHosts?: string;
  hosts: HostOutcome[];
}

export type AttemptState =
  | { kind: 'absent' }
  /** `endsBy`: it was told to end by then (RFC 3339); past that, its node no longer answers. */
  | { kind: 'running'; step?: string; endsBy?: string }
  /** It did its work; `report` is absent when it was lost on the way. */
  | { kind: 'succeeded'; report?: Report; endedAt?: string }
  | { kind: 'failed'; reason: string; message: string; report?: Report; endedAt?: string }
  /** It left neither report nor verdict; whether its work was done is unknown. */
  | { kind: 'lost'; why: string; endedAt?: string };

/** The port to whatever installs a cluster. Every call is idempotent. */
export interface Installer {
  /** Starts the attempt, or finds it started. Throws when its name is taken by another cluster's. */
  start(attempt: Attempt): Promise<void>;
  observe(ref: AttemptRef): Promise<AttemptState>;
  /** Attempts of a cluster that still exist in any state, as far as is known here. */
  list(clusterId: string): Promise<AttemptRef[]>;
  /** Ends the attempt if it runs and removes everything that it left here. */
  remove(ref: AttemptRef): Promise<void>;
}
