import type { KubeObject, Resource } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Report } from '#protocol/report.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import type { Informer, InformerView } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';

/** Names one run; Jobs, fences and reports derive from it. */
export interface AttemptRef {
  clusterId: string;
  sequence: number;
  attempt: number;
  /** Name of the Job: `<prefix>-<id>-<attempt>`. */
  job: string;
  /** Which auxiliary Job it is; absent for an operation. */
  auxiliary?: string;
  /** It was removed, and its pod may still work, until then (RFC 3339). */
  leavesBy?: string;
}

/** Credentials for hosts. Secret: never logged, never in a status. */
export interface Access {
  username: string;
  privateKey?: string;
  password?: string;
  /** Lines of known_hosts (sshd(8)); hosts without one are taken at first sight. */
  knownHosts: string;
  /** With what hosts log in to registries, as JSON (kubernetes.io, Docker config Secrets). */
  registryLogin?: string;
}

/** Everything that a run needs; a snapshot, so later edits do not touch it. */
export interface Attempt extends AttemptRef {
  runSpec: RunSpec;
  /** Text of a user's own playbook, which is run in the place of ours; such a run reports to nobody. */
  hook?: string;
  deadlineSeconds: number;
  access: Access;
}

export interface Blocked {
  reason: string;
  message: string;
  /** What a person can do about it. */
  mend?: string;
  /** The installer was given something else since; only another attempt begins with that. */
  outdated?: boolean;
}

export type AttemptState =
  | { kind: 'absent' }
  /**
   * `endsBy`: it was told to end by then (RFC 3339); past that, its node no longer answers. `blocked`: why it cannot
   * begin.
   */
  | { kind: 'running'; step?: string; endsBy?: string; blocked?: Blocked }
  /** It did its work; `report` is absent when it was lost on the way. */
  | { kind: 'succeeded'; report?: Report; endedAt?: string }
  | { kind: 'failed'; reason: string; message: string; report?: Report; endedAt?: string }
  /** It left neither report nor verdict; whether its work was done is unknown. */
  | { kind: 'lost'; why: string; endedAt?: string };

/** The port to whatever installs a cluster. Every call is idempotent; `testing/installer-cases.ts` is what each must do. */
export interface Installer {
  /** Starts the attempt, or finds it started. Throws when its name is taken by another cluster's. */
  start(attempt: Attempt): Promise<void>;
  observe(ref: AttemptRef): Promise<AttemptState>;
  /** Attempts of a cluster that still exist in any state, as far as is known here. */
  list(clusterId: string): Promise<AttemptRef[]>;
  /** Ends the attempt if it runs and removes everything that it left here; the log of an operation's stays. */
  remove(ref: AttemptRef): Promise<void>;
  /** Removes logs of a cluster (`namespace/name`): of runs up to that sequence, or all. */
  forget(cluster: string, sequence?: number): Promise<void>;
}

/** What the process gives to an installer. */
export interface InstallerHost {
  clock: Clock;
  /** Returns the informer of that kind and selection; all callers share it. */
  informer<T extends KubeObject>(resource: Resource, view?: InformerView<T>): Informer<T>;
}

/** An installer as a controller takes it: with the caches that it reads and that wake whoever waits for it. */
export interface InstallerModule {
  /** Informers of the host; each object is marked with its cluster (`marks.cluster`). */
  caches: readonly Informer<KubeObject>[];
  /** The installer over the client of one reconcile. */
  over(client: Client): Installer;
}
