import type { Spec } from '#api/kubernetes-cluster.ts';
import {
  OPERATION_VALUES,
  type OperationName,
  type OperationValues,
  type Phase,
} from '#api/operation-values.ts';
import type { Problem } from '#base/errors.ts';
import { type Brings, leaves, type RunSpec } from '#protocol/run-spec.ts';
import type { SnapshotTask } from '#protocol/snapshot.ts';
import type { ChangeKind } from './changes.ts';
import type { Planning, Situation, StepPlan } from './plan-for.ts';
import type { EditRequest } from './request.ts';

/**
 * Everything in which operations differ; the controller's table has what they share. Controller, REST, webhook and documents
 * read it from here.
 */
export interface Operation {
  name: OperationName;
  values: OperationValues;
  /** A one-line description for users. */
  summary: string;
  /** `status.phase` while the operation runs. */
  phase: Phase;
  /** `status.phase` after the operation has succeeded. */
  ends: Phase;
  /** First part of the Jobs' names, and of the record's name: `kube-<prefix>-<id>`. */
  prefix: string;
  /** The playbook of the run; undefined: the run changes no host by Ansible. */
  playbook: string | undefined;
  /** The request over REST; if absent, the route of the cluster itself is used. */
  request?: EditRequest;
  /** The report is sent to the route `…/<callback>/callback`. */
  callback: string;
  /** Changes that it can make to an existing cluster; an edit of only these implies it. */
  mayChange: readonly ChangeKind[];
  /** The effect of an edit without an operation annotation: the operation starts, or waits for the annotation. */
  declared: 'starts' | 'waits';
  precheck: RunSpec['precheck'];
  /** The work of its run with snapshots of etcd. */
  snapshot?: SnapshotTask['task'];
  /** Results that a success must leave behind. */
  brings: readonly Brings[];
  /** Whether its user needs the right to the administrator's kubeconfig, because it can give as much. */
  needsKubeconfig?: true;
  /** Whether its kubeconfig replaces one that is still valid. */
  renewsKubeconfig?: true;
  planning: Planning;
  /** Whether spec and situation are validated at all. Operations that must always be possible are not. */
  checks: boolean;
  /** Returns the reasons against the operation; empty if it may start. */
  check(situation: Situation): Problem[];
  /** Returns the spec of the cluster after the operation. */
  target(situation: Situation): Spec;
}

type Derived = Pick<
  Operation,
  | 'name'
  | 'values'
  | 'prefix'
  | 'playbook'
  | 'callback'
  | 'declared'
  | 'precheck'
  | 'brings'
  | 'checks'
  | 'target'
>;

/** Returns the fields that follow from the name, or are the same for most operations. */
export const named = (name: OperationName): Derived => ({
  name,
  values: OPERATION_VALUES[name],
  prefix: name,
  playbook: `${name}.yml`,
  callback: name.replace('-', ''),
  declared: 'waits',
  precheck: 'all',
  brings: ['kubeconfig'],
  checks: true,
  target: ({ spec }) => spec,
});

/** The last step of every operation that removes hosts: it cleans them. */
export const resetHosts: StepPlan = {
  name: 'Reset hosts',
  takesOut: 'begun',
  works: leaves,
  pace: 'all',
  cut: 'never',
};
