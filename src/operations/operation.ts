import type { Spec } from '#api/kubernetes-cluster.ts';
import { type OperationName, type Phase, WORDS, type Words } from '#api/words.ts';
import type { Problem } from '#base/errors.ts';
import type { Claimed, HostPlan } from './members.ts';

/** What a judgement about an operation may look at. */
export interface Situation {
  spec: Spec;
  /** The spec of the last operation that succeeded; undefined until the cluster was created. */
  applied: Spec | undefined;
  claimed: readonly Claimed[];
}

/** Everything in which operations differ; what they share is the controller's table. */
export interface Operation {
  name: OperationName;
  words: Words;
  /** What `status.phase` says while it runs. */
  phase: Phase;
  /** What `status.phase` says when it has succeeded. */
  ends: Phase;
  /** First part of its Jobs' names, and of its record's: `kube-<prefix>-<id>`. */
  prefix: string;
  playbook: string;
  /** Whether a success must leave a kubeconfig behind. */
  needsKubeconfig: boolean;
  hosts(situation: Situation): HostPlan;
  /** What forbids it here; empty when it may start. */
  check(situation: Situation): Problem[];
}

/** The fields that follow from the name alone. */
export const named = (name: OperationName): Pick<Operation, 'name' | 'words' | 'prefix' | 'playbook'> => ({
  name,
  words: WORDS[name],
  prefix: name,
  playbook: `${name}.yml`,
});
