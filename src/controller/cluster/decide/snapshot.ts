import { operationUnderWay } from '#api/cluster-facts.ts';
import type { Stated } from '#api/conditions.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster, OperationStatus, Spec } from '#api/kubernetes-cluster.ts';
import type { OperationName } from '#api/words.ts';
import type { Problem } from '#base/errors.ts';
import type { AttemptRef, AttemptState } from '#installer/installer.ts';
import type { Offer } from '#operations/resolve.ts';
import type { SeenHook } from './due-hook.ts';
import type { FrozenPlan } from './frozen-plan.ts';

/** What a client asks by annotation. */
export interface Request {
  word: string;
  requestId: string;
  specHash: string;
  /** Undefined when the word names no operation of the contract. */
  operation: OperationName | undefined;
}

/** Whom the object's cluster-id is bound to. */
export type Binding =
  | { kind: 'unbound' }
  | { kind: 'ours' }
  /** Bound to another object. */
  | { kind: 'foreign'; to: string }
  /** The object carries an id that has no cluster state Secret. */
  | { kind: 'missing' };

/** Whether the cluster's credentials for people are where they belong. */
export type Kubeconfig =
  | { kind: 'missing' }
  | { kind: 'present'; expires?: Date; server?: string; authority?: string }
  /** The operator may not look. */
  | { kind: 'hidden' }
  /** A Secret of that name is there, and it is somebody else's. */
  | { kind: 'foreign' };

/** What observation tells of a cluster: `Ready` and the conditions of its health, and its nodes. */
export interface Verdict {
  conditions: readonly Stated[];
  nodes?: { ready: number; total: number };
}

export type Health =
  /** Nobody looks. */
  | { kind: 'off' }
  /** Not looked at since the controller began: what status says stays. */
  | { kind: 'unseen' }
  /** `away`: the one control plane that every look has found away, for so long as looks in a row say it. */
  | { kind: 'seen'; verdict: Verdict; away?: { ip: string; forMs: number } | undefined };

/** Whether an accepted operation may begin, among all that run at once. */
export type Turn =
  | { kind: 'now' }
  /**
   * `before`: how many begin before it, rounded; undefined before the first count. `most`: how many run at once.
   * `mostOfOne`: how many of one namespace, if these run.
   */
  | { kind: 'waits'; before: number | undefined; most: number; mostOfOne?: number };

/** Everything that one reconcile knows; read once, then frozen. */
export interface Snapshot {
  now: Date;
  cluster: KubernetesCluster;
  /** The id that the object carries, or would be given. */
  clusterId: string;
  binding: Binding;
  /** Id annotation and finalizer are both there. */
  adopted: boolean;
  /** Records of the hosts that the cluster holds. */
  hosts: readonly HostRecord[];
  /** What the cluster has; undefined until it was created. */
  applied: Spec | undefined;
  request: Request | undefined;
  operation: OperationStatus | undefined;
  /** The sequence that the cluster state Secret gave last; undefined while the cache does not show it. */
  sequence: number | undefined;
  /** What the operation does that is under way, or whose word is not written yet; undefined when its plan cannot be read. */
  plan: FrozenPlan | undefined;
  /** State of that operation's last attempt; `absent` when there is none. */
  attempt: AttemptState;
  /** The hook that the operation under way comes to next, or is at. */
  hook: SeenHook | undefined;
  /** Whether the operation under way may begin; of one that has begun it says nothing. */
  turn: Turn;
  /** State of the auxiliary Job that fetches the kubeconfig; `absent` unless one was needed. */
  fetch: AttemptState;
  /** The run of a dry run that looks at hosts, and how it stands. */
  check: { ref: AttemptRef; state: AttemptState } | undefined;
  /** Runs that still exist, of whatever operation or auxiliary Job. */
  attempts: readonly AttemptRef[];
  kubeconfig: Kubeconfig;
  health: Health;
  /** Canonical addresses of spare hosts (spec.policy) that are on record as hosts of a cluster, this one or another. */
  sparesOnRecord: readonly string[];
  /** Of hosts that the spec names and other clusters are rid of, whose remains are on them. */
  remains: ReadonlyMap<string, string>;
  /** Addresses of hosts that join by the plan and are on record as another cluster's. */
  takenAway: readonly string[];
  offer: Offer;
  /** What is wrong with the spec itself. */
  problems: readonly Problem[];
  /** The spec has not even its shape, and `cluster` stands here with an empty one. */
  malformed: boolean;
}

/** The auxiliary Job that looks at the hosts of a plan. */
export const PRECHECK = 'precheck';

/** Whether an operation was accepted and has not ended. */
export const inFlight = ({ cluster }: Pick<Snapshot, 'cluster'>): boolean =>
  operationUnderWay(cluster) !== undefined;
