/**
 * Defines the installer interface: the controller starts attempts, observes and removes them. `job` implements it with
 * Ansible in a Job.
 */

import type { KubeObject, Resource } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Report } from '#protocol/report.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import type { SnapshotAccess } from '#protocol/snapshot.ts';
import type { Informer, InformerView } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';

/** Identity of one run; names of Jobs, fences and reports derive from it. */
export interface AttemptRef {
  clusterId: string;
  sequence: number;
  attempt: number;
  /** Name of the Job: `<prefix>-<id>-<attempt>`. */
  job: string;
  /** Kind of the auxiliary Job; absent for an operation. */
  auxiliary?: string;
  /** Time until which the pod of a removed run may still work (RFC 3339). */
  leavesBy?: string;
}

/** Credentials for hosts. Secret: never logged, never in a status. */
export interface Access {
  username: string;
  privateKey?: string;
  password?: string;
  /** Lines of known_hosts (sshd(8)); the first key of a host without a line is trusted. */
  knownHosts: string;
  /** Registry credentials of hosts, as JSON (kubernetes.io, Docker config Secrets). */
  registryLogin?: string;
  /** Key and storage of snapshots, for a run that saves or loads one. */
  snapshots?: SnapshotAccess;
}

/** Complete input of a run; a snapshot, so later edits have no effect. */
export interface Attempt extends AttemptRef {
  runSpec: RunSpec;
  /** Text of a user's playbook, which replaces the operator's; such a run sends no report. */
  hook?: string;
  deadlineSeconds: number;
  access: Access;
}

export interface Blocked {
  reason: string;
  message: string;
  /** Remediation for the user. */
  mend?: string;
  /** Whether the installer's settings changed since; only another attempt uses the new ones. */
  outdated?: boolean;
}

export type AttemptState =
  | { kind: 'absent' }
  /**
   * `endsBy`: the run was asked to end by then (RFC 3339); later, its node no longer answers. `blocked`: why it cannot
   * begin.
   */
  | { kind: 'running'; step?: string; endsBy?: string; blocked?: Blocked }
  /** Successful run; `report` is absent if it was lost. */
  | { kind: 'succeeded'; report?: Report; endedAt?: string }
  | { kind: 'failed'; reason: string; message: string; report?: Report; endedAt?: string }
  /** Run without report and result, so it may have changed any of its hosts. */
  | { kind: 'lost'; why: string; endedAt?: string };

/** Interface of installers. Every call is idempotent; `testing/installer-cases.ts` defines the behaviour. */
export interface Installer {
  /** Starts the attempt, or finds it started. Throws if another cluster has its name. */
  start(attempt: Attempt): Promise<void>;
  observe(ref: AttemptRef): Promise<AttemptState>;
  /** Lists attempts of a cluster that still exist in any state, as far as the installer knows. */
  list(clusterId: string): Promise<AttemptRef[]>;
  /** Ends a running attempt and removes everything that it left here; the log of an operation stays. */
  remove(ref: AttemptRef): Promise<void>;
  /** Removes logs of a cluster (`namespace/name`): those of runs up to that sequence, or all. */
  forget(cluster: string, sequence?: number): Promise<void>;
}

/** Resources of the process for an installer. */
export interface InstallerHost {
  clock: Clock;
  /** Returns the informer of that kind and selection; all callers share it. */
  informer<T extends KubeObject>(resource: Resource, view?: InformerView<T>): Informer<T>;
}

/** Installer for a controller, with the caches that it reads and whose events trigger reconciles. */
export interface InstallerModule {
  /** Informers of the host; each object has the annotation `internalAnnotations.cluster`. */
  caches: readonly Informer<KubeObject>[];
  /** Returns the installer over the client of one reconcile. */
  over(client: Client): Installer;
}
