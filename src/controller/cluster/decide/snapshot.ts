import { operationUnderWay } from '#api/cluster-facts.ts';
import type { Stated } from '#api/conditions.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster, OperationStatus, Spec } from '#api/kubernetes-cluster.ts';
import type { OperationName } from '#api/operation-values.ts';
import type { Problem } from '#base/errors.ts';
import type { AttemptRef, AttemptState } from '#installer/installer.ts';
import type { Offer } from '#operations/resolve.ts';
import type { SeenHook } from './due-hook.ts';
import type { FrozenPlan } from './frozen-plan.ts';

/** A client's request by annotation. */
export interface Request {
  word: string;
  requestId: string;
  specHash: string;
  /** Undefined if the annotation names no operation of the contract. */
  operation: OperationName | undefined;
}

/** The object that the cluster-id is bound to. */
export type Binding =
  | { kind: 'unbound' }
  | { kind: 'ours' }
  /** Bound to another object. */
  | { kind: 'foreign'; to: string }
  /** The object carries an id without a cluster state Secret. */
  | { kind: 'missing' };

/** State of the kubeconfig Secret for the cluster's users. */
export type Kubeconfig =
  | { kind: 'missing' }
  | { kind: 'present'; expires?: Date; server?: string; authority?: string }
  /** The operator may not read Secrets there. */
  | { kind: 'hidden' }
  /** A Secret of that name exists, and has another owner. */
  | { kind: 'foreign' };

/** The finding of a probe: `Ready`, the health conditions, and the nodes. */
export interface Verdict {
  conditions: readonly Stated[];
  nodes?: { ready: number; total: number };
  /** When the first certificate of the cluster ends. */
  certificatesEnd?: Date;
}

export type Health =
  /** Probes are turned off. */
  | { kind: 'off' }
  /** Not probed since the controller started: the conditions in status stay. */
  | { kind: 'unseen' }
  /** `away`: the one control plane that every probe found away, and for how long consecutive probes have found it so. */
  | { kind: 'seen'; verdict: Verdict; away?: { ip: string; forMs: number } | undefined };

/** Whether an accepted operation may begin, among all that run at once. */
export type Turn =
  | { kind: 'now' }
  /**
   * `before`: how many operations begin before it, rounded; undefined before the first count. `most`: how many run at once.
   * `mostOfOne`: how many of one namespace, if these are at the limit.
   */
  | { kind: 'waits'; before: number | undefined; most: number; mostOfOne?: number };

/** Everything that one reconcile knows; read once, then frozen. */
export interface Snapshot {
  now: Date;
  cluster: KubernetesCluster;
  /** The id that the object carries, or would get. */
  clusterId: string;
  binding: Binding;
  /** Whether the id annotation and the finalizer both exist. */
  adopted: boolean;
  /** Records of the hosts that the cluster holds. */
  hosts: readonly HostRecord[];
  /** The spec that the cluster has; undefined until it was created. */
  applied: Spec | undefined;
  request: Request | undefined;
  operation: OperationStatus | undefined;
  /** The last sequence in the cluster state Secret; undefined until the cache shows it. */
  sequence: number | undefined;
  /** The plan of the operation that is under way or whose result annotation is not written yet; undefined if unreadable. */
  plan: FrozenPlan | undefined;
  /** State of that operation's last attempt; `absent` if there is none. */
  attempt: AttemptState;
  /** The hook that the operation under way comes to next, or is at. */
  hook: SeenHook | undefined;
  /** Whether the operation under way may begin; irrelevant once it has begun. */
  turn: Turn;
  /** State of the auxiliary Job that fetches the kubeconfig; `absent` if none was needed. */
  fetch: AttemptState;
  /** The run of a dry run that checks hosts, and its state. */
  check: { ref: AttemptRef; state: AttemptState } | undefined;
  /** Runs that still exist, of any operation or auxiliary Job. */
  attempts: readonly AttemptRef[];
  kubeconfig: Kubeconfig;
  health: Health;
  /** Canonical addresses of spare hosts (`spec.policy`) that this or another cluster has on record. */
  sparesOnRecord: readonly string[];
  /** Host addresses of the spec that still carry remains of another cluster, which released them. */
  remains: ReadonlyMap<string, string>;
  /** Addresses of hosts that join by the plan and are on record for another cluster. */
  takenAway: readonly string[];
  offer: Offer;
  /** Problems of the spec itself. */
  problems: readonly Problem[];
  /** Whether the spec does not match the schema; `cluster` then has an empty spec. */
  malformed: boolean;
}

/** The auxiliary Job that checks the hosts of a plan. */
export const PRECHECK = 'precheck';

/** Whether an operation was accepted and has not ended. */
export const inFlight = ({ cluster }: Pick<Snapshot, 'cluster'>): boolean =>
  operationUnderWay(cluster) !== undefined;
