import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { OperationName, Phase } from '#api/words.ts';
import type { Attempt, AttemptRef, Report } from '#installer/installer.ts';
import type { Member } from '#operations/members.ts';
import type { Request } from './snapshot.ts';

/** One idempotent step in the world outside the object's status. */
export type Effect =
  | { kind: 'bind' }
  | { kind: 'adopt' }
  | { kind: 'claim'; hosts: readonly Member[] }
  | { kind: 'start'; attempt: Omit<Attempt, 'access'> }
  | { kind: 'discard'; attempts: readonly AttemptRef[] }
  | { kind: 'record'; result: string }
  | { kind: 'keep-access'; report: Report }
  | { kind: 'join'; hosts: readonly string[] }
  | { kind: 'release'; hosts: readonly string[] }
  | { kind: 'taint'; hosts: readonly { ip: string; why: string }[] }
  | { kind: 'answer'; word: string; applied: boolean }
  | { kind: 'delete-object' }
  | { kind: 'let-go' };

/** Why nothing will happen without a person. */
export interface Stall {
  reason: string;
  message: string;
}

export type Outcome =
  /** An event will wake us. */
  | { kind: 'rest'; stall?: Stall }
  /** Look again later, and say why if a person should know. */
  | { kind: 'wait'; ms: number; stall?: Stall }
  /** Take the next sequence and write the operation down; the work starts at the next reconcile. */
  | { kind: 'accept'; operation: OperationName; request: Request }
  /** Write, wake again. */
  | { kind: 'move'; to: Phase; because: string; operation: Partial<OperationStatus> }
  /** Do, in order; each is idempotent, and a throw is retried. */
  | { kind: 'act'; effects: readonly [Effect, ...Effect[]] }
  /** The operation ends so, until someone asks again. */
  | { kind: 'fail'; reason: string; message: string };
