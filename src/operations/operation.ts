import type { Spec } from '#api/kubernetes-cluster.ts';
import { type OperationName, type Phase, WORDS, type Words } from '#api/words.ts';
import type { Problem } from '#base/errors.ts';
import { type Brings, leaves, type RunSpec } from '#protocol/run-spec.ts';
import type { ChangeKind } from './changes.ts';
import type { Planning, Situation, StepPlan } from './plan-for.ts';
import type { EditRequest } from './request.ts';

/**
 * Everything in which operations differ; what they share is the controller's table. Controller, REST, webhook and
 * documents take what they need of an operation from here.
 */
export interface Operation {
  name: OperationName;
  words: Words;
  /** One line for people. */
  summary: string;
  /** What `status.phase` says while it runs. */
  phase: Phase;
  /** What `status.phase` says when it has succeeded. */
  ends: Phase;
  /** First part of its Jobs' names, and of its record's: `kube-<prefix>-<id>`. */
  prefix: string;
  playbook: string;
  /** Its request over REST; absent: by the route of the cluster itself. */
  request?: EditRequest;
  /** The route that takes the report is `…/<callback>/callback`. */
  callback: string;
  /** Changes that it can make to an existing cluster; an edit of only these implies it. */
  mayChange: readonly ChangeKind[];
  /** The effect of an edit without a word: the operation starts, or waits for its word. */
  declared: 'starts' | 'waits';
  precheck: RunSpec['precheck'];
  /** Results that a success must leave behind. */
  brings: readonly Brings[];
  planning: Planning;
  /** Whether spec and situation are judged at all; what must always be possible is not. */
  checks: boolean;
  /** Reasons against it; empty when it may start. */
  check(situation: Situation): Problem[];
  /** The spec of the cluster afterwards. */
  target(situation: Situation): Spec;
}

type Derived = Pick<
  Operation,
  | 'name'
  | 'words'
  | 'prefix'
  | 'playbook'
  | 'callback'
  | 'declared'
  | 'precheck'
  | 'brings'
  | 'checks'
  | 'target'
>;

/** Fields that follow from the name, or are the same for most operations. */
export const named = (name: OperationName): Derived => ({
  name,
  words: WORDS[name],
  prefix: name,
  playbook: `${name}.yml`,
  callback: name.replace('-', ''),
  declared: 'waits',
  precheck: 'all',
  brings: ['kubeconfig'],
  checks: true,
  target: ({ spec }) => spec,
});

/** Whatever leaves is cleaned at the end of every operation that takes hosts out. */
export const resetHosts: StepPlan = {
  name: 'Reset hosts',
  takesOut: 'begun',
  works: leaves,
  pace: 'all',
  cut: 'never',
};
