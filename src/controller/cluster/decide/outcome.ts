import type { HostRecordStatus } from '#api/host-record.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { Member } from '#api/member.ts';
import type { PlanStatus } from '#api/plan-status.ts';
import type { OperationName, Phase, Result } from '#api/words.ts';
import { type Problem, sentenceOf } from '#base/errors.ts';
import type { Attempt, AttemptRef, Blocked } from '#installer/installer.ts';
import type { PlannedHook } from '#operations/hooks.ts';
import type { Remediation } from '#operations/remediation.ts';
import type { Request, Turn } from './snapshot.ts';

/** What is known of a run before the way to its hosts is read. */
export type AttemptToStart = Omit<Attempt, 'access' | 'runSpec'> & {
  runSpec: Omit<Attempt['runSpec'], 'username'>;
};

/** One idempotent step in the world outside the object's status. */
export type Effect =
  | { kind: 'bind' }
  | { kind: 'adopt' }
  | { kind: 'hold'; members: readonly Member[] }
  /** Hosts that a run may have changed and whose records are gone: taken again as touched, but for those of others. */
  | { kind: 'hold-again'; members: readonly Member[] }
  /** A run that only looks at hosts, with the credentials as they are now; refused where one is another cluster's. */
  | {
      kind: 'check-hosts';
      members: readonly Member[];
      hooks: readonly PlannedHook[];
      attempt: AttemptToStart;
    }
  | { kind: 'start'; attempt: AttemptToStart }
  /** A playbook of the user's, in a Job of its own. */
  | { kind: 'hook'; hook: PlannedHook; attempt: AttemptToStart }
  | { kind: 'discard'; attempts: readonly AttemptRef[] }
  | { kind: 'record'; result: string }
  /** The record of an end that is no success is whole. */
  | { kind: 'recorded' }
  | { kind: 'keep-kubeconfig'; kubeconfig: string }
  /** The kubeconfig names a control plane at that address from now on. */
  | { kind: 'point-kubeconfig'; to: string }
  /** Host keys as the last run saw them, for people and for the next run. */
  | { kind: 'keep-host-keys'; hosts: readonly { ip: string; keys: readonly string[] }[] }
  | { kind: 'note'; hosts: readonly { ip: string; status: HostRecordStatus; warning?: Stall }[] }
  | { kind: 'rewrite'; members: readonly Member[] }
  | { kind: 'release'; hosts: readonly string[] }
  /** Records of operations that are too long ago, under each name that they may have, and logs up to a sequence. */
  | {
      kind: 'prune';
      records: readonly { sequence: number; operations: readonly OperationName[] }[];
      upTo: number;
    }
  /** A spare host in the place of a control plane, in the spec, with the word that asks for it. */
  | ({ kind: 'remediate'; requestId: string; message: string } & Remediation)
  | { kind: 'answer'; word: string; applied: boolean }
  /** The cluster's count of operations, where hosts know a later one. */
  | { kind: 'raise-sequence'; to: number }
  | { kind: 'delete-object' }
  | { kind: 'let-go' };

/** Every problem in one line, as conditions have it. */
export const textOfProblems = (problems: readonly Problem[]): string =>
  sentenceOf(problems, ({ field, reason }) => `${field} ${reason}`);

/** Why a run cannot begin, and what helps. */
export const textOfBlock = ({ reason, message, mend }: Blocked): string =>
  `${reason}: ${message}${mend === undefined ? '' : `; ${mend}`}`;

/** Why nothing will happen without a person. */
export interface Stall {
  reason: string;
  message: string;
}

export type Outcome =
  /** An event will wake us. */
  | { kind: 'rest'; stall?: Stall; plan?: PlanStatus; turn?: Extract<Turn, { kind: 'waits' }> }
  /** Look again later, and say why if a person should know. `keepsPlace`: what runs is ending, so its place in the queue is not given back. */
  | { kind: 'wait'; ms: number; stall?: Stall; plan?: PlanStatus; keepsPlace?: true }
  /** Take the next sequence and write the operation down; the work starts at the next reconcile. */
  | { kind: 'accept'; operation: OperationName; request: Request; requestedBy?: string }
  /** Write, wake again. */
  | { kind: 'move'; to: Phase; because: string; operation: Partial<OperationStatus> }
  /** Do, in order; each is idempotent, and a throw is retried. */
  | { kind: 'act'; effects: readonly [Effect, ...Effect[]] }
  /** The operation ends so. */
  | { kind: 'end'; result: Result; reason: string; message: string; hooksDone?: number };
