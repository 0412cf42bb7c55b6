import type { KubernetesCluster, OperationStatus, Spec } from '#api/kubernetes-cluster.ts';
import type { OperationName } from '#api/words.ts';
import type { Problem } from '#base/errors.ts';
import type { AttemptRef, AttemptState } from '#installer/installer.ts';
import type { Claimed } from '#operations/members.ts';

/** What a client asks by annotation. */
export interface Request {
  word: string;
  requestId: string;
  specHash: string;
  /** Undefined when the word names no operation that is offered. */
  operation: OperationName | undefined;
}

/** Whom the object's cluster-id is bound to. */
export type Binding =
  | { kind: 'unbound' }
  | { kind: 'ours' }
  /** Bound to another object. */
  | { kind: 'foreign'; to: string }
  /** The object carries an id that has no anchor. */
  | { kind: 'missing' };

/** Whether the cluster's credentials for people are where they belong. */
export type Kubeconfig =
  | { kind: 'missing' }
  | { kind: 'present'; expires?: Date }
  /** The operator may not look. */
  | { kind: 'hidden' }
  /** A Secret of that name is there, and it is somebody else's. */
  | { kind: 'foreign' };

/** Everything that one reconcile knows; read once, then frozen. */
export interface Snapshot {
  now: Date;
  cluster: KubernetesCluster;
  /** The id that the object carries, or would be given. */
  clusterId: string;
  binding: Binding;
  /** Id annotation and finalizer are both there. */
  adopted: boolean;
  claims: readonly Claimed[];
  /** The spec of the last operation that succeeded. */
  applied: Spec | undefined;
  request: Request | undefined;
  operation: OperationStatus | undefined;
  /** State of the operation's current attempt; `absent` when there is no operation. */
  attempt: AttemptState;
  /** State of the Job that only fetches the kubeconfig; `absent` unless one was needed. */
  fetch: AttemptState;
  /** Attempts that still exist, of whatever operation. */
  attempts: readonly AttemptRef[];
  kubeconfig: Kubeconfig;
  /** What is wrong with the spec itself. */
  problems: readonly Problem[];
  /** The spec has not even its shape, and `cluster` stands here with an empty one. */
  malformed: boolean;
}

/** Whether an operation was accepted and has not ended. */
export const inFlight = (snapshot: Snapshot): boolean =>
  snapshot.operation !== undefined && snapshot.operation.result === undefined;
