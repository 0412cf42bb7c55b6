import type { ClusterHost } from '#api/cluster-host.ts';
import type { HostRecordStatus } from '#api/host-record.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { OperationName, Phase, Result } from '#api/operation-values.ts';
import type { PlanStatus } from '#api/plan-status.ts';
import { type Problem, sentenceOf } from '#base/errors.ts';
import type { Attempt, AttemptRef, Blocked } from '#installer/installer.ts';
import type { PlannedHook } from '#operations/hooks.ts';
import type { Remediation } from '#operations/remediation.ts';
import type { Request, Turn } from './snapshot.ts';

/** A run before the SSH credentials of its hosts are read. */
export type AttemptToStart = Omit<Attempt, 'access' | 'runSpec'> & {
  runSpec: Omit<Attempt['runSpec'], 'username'>;
};

/** An idempotent step outside the object's status. */
export type Effect =
  | { kind: 'bind' }
  | { kind: 'adopt' }
  | { kind: 'hold'; hosts: readonly ClusterHost[] }
  /**
   * Holds hosts again, as touched, whose records are gone and that a run may have changed. Skips hosts of other clusters.
   */
  | { kind: 'hold-again'; hosts: readonly ClusterHost[] }
  /** Starts a run that only checks hosts, with the present credentials. Refused if a host belongs to another cluster. */
  | {
      kind: 'check-hosts';
      hosts: readonly ClusterHost[];
      hooks: readonly PlannedHook[];
      attempt: AttemptToStart;
    }
  | { kind: 'start'; attempt: AttemptToStart }
  /** Runs a user's playbook in a separate Job. */
  | { kind: 'hook'; hook: PlannedHook; attempt: AttemptToStart }
  | { kind: 'discard'; attempts: readonly AttemptRef[] }
  | { kind: 'record'; result: string }
  /** Says that the record of an operation that did not succeed is complete. */
  | { kind: 'recorded' }
  | { kind: 'keep-kubeconfig'; kubeconfig: string }
  /** Points the kubeconfig at the control plane with that address. */
  | { kind: 'point-kubeconfig'; to: string }
  /** Stores host keys as the last run saw them, for users and for the next run. */
  | { kind: 'keep-host-keys'; hosts: readonly { ip: string; keys: readonly string[] }[] }
  | { kind: 'note'; hosts: readonly { ip: string; status: HostRecordStatus; warning?: Stall }[] }
  | { kind: 'rewrite'; hosts: readonly ClusterHost[] }
  | { kind: 'release'; hosts: readonly string[] }
  /** Removes records of old operations, under each name that they may have, and logs up to a sequence. */
  | {
      kind: 'prune';
      records: readonly { sequence: number; operations: readonly OperationName[] }[];
      upTo: number;
    }
  /** Edits the spec so that a spare host replaces a control plane, and sets the operation annotation. */
  | ({ kind: 'remediate'; requestId: string; message: string } & Remediation)
  /** Sets the operation annotation for an operation that the policy or a schedule orders. */
  | { kind: 'ask-upkeep'; operation: 'renew' | 'snapshot'; requestId: string }
  | { kind: 'answer'; word: string; applied: boolean }
  /** Raises the cluster's sequence if hosts report a later one. */
  | { kind: 'raise-sequence'; to: number }
  | { kind: 'delete-object' }
  | { kind: 'let-go' };

/** Returns all problems in one line, as conditions show them. */
export const textOfProblems = (problems: readonly Problem[]): string =>
  sentenceOf(problems, ({ field, reason }) => `${field} ${reason}`);

/** Returns why a run cannot begin, and the fix. */
export const textOfBlock = ({ reason, message, mend }: Blocked): string =>
  `${reason}: ${message}${mend === undefined ? '' : `; ${mend}`}`;

/** The reason why nothing proceeds until a user acts. */
export interface Stall {
  reason: string;
  message: string;
}

export type Outcome =
  /** Nothing to do until an event triggers the next reconcile. */
  | { kind: 'rest'; stall?: Stall; plan?: PlanStatus; turn?: Extract<Turn, { kind: 'waits' }> }
  /**
   * Reconcile again after `ms`, with a stall if the user should know why. `keepsPlace`: what runs is ending, so the
   * operation keeps its place in the queue. `waitsFor`: the operation begins by itself after that.
   */
  | { kind: 'wait'; ms: number; stall?: Stall; plan?: PlanStatus; keepsPlace?: true; waitsFor?: string }
  /** Take the next sequence and record the operation in status; the work starts at the next reconcile. */
  | { kind: 'accept'; operation: OperationName; request: Request; requestedBy?: string }
  /** Write status and reconcile again. */
  | { kind: 'move'; to: Phase; because: string; operation: Partial<OperationStatus> }
  /** Perform the effects in order. Each is idempotent, and a thrown error is retried. */
  | { kind: 'act'; effects: readonly [Effect, ...Effect[]] }
  /** End the operation with this result. */
  | { kind: 'end'; result: Result; reason: string; message: string; hooksDone?: number };
