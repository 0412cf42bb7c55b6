import { acceptedAs, appliedOperation, comingSpec, pathText } from '#api/cluster-facts.ts';
import { DNS_LABEL } from '#api/host.ts';
import { IMMUTABLE, type KubernetesCluster, MAX_NAME, specSchema } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import {
  ALL_OPERATION_VALUES,
  isResultValue,
  OPERATION_VALUES,
  operationAsked,
} from '#api/operation-values.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';
import { changesBetween } from '#operations/changes.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import { restoreIn } from '#operations/plan-for.ts';
import { isRemediation } from '#operations/remediation.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { validateSpec } from '#operations/validate.ts';
import { agreedPlanProblems } from './agreed-plan.ts';
import { cancelProblems } from './cancel.ts';
import type { Change } from './change.ts';

const at = (annotation: string): string => `metadata.annotations[${annotation}]`;
const annotationOf = (cluster: KubernetesCluster | undefined, name: string): string | undefined =>
  cluster?.metadata.annotations?.[name];
const differs = (a: unknown, b: unknown): boolean => canonicalJson([a]) !== canonicalJson([b]);
const same = ({ old, next }: Pick<Change, 'old' | 'next'>, name: string): boolean =>
  annotationOf(old, name) === annotationOf(next, name);

/**
 * Returns all problems of a change, with their fields. Only what changes is judged, so that an object that was admitted once
 * can always be labelled, finished and deleted.
 */
export function validateKubernetesCluster(change: Change): Problem[] {
  const { old, next, user, controllerUser } = change;
  const specChanged = differs(old?.spec, next.spec);
  const shape = specChanged ? shapeProblems(next) : [];
  if (shape.length > 0) return shape;
  return [
    ...(old ? [] : nameProblems(next)),
    ...(user === controllerUser ? editedByItself(change) : guarded(change)),
    ...(specChanged ? immutable(change) : []),
    ...(specChanged ? validateSpec(next.spec, change.offer, old?.status?.version) : []),
    ...(specChanged ? undeclarable(change) : []),
    ...dryRun(change),
    ...requestId(change),
    ...cancelProblems(change),
    ...agreedPlanProblems(change),
    ...requested(change, specChanged),
  ];
}

function shapeProblems({ spec }: KubernetesCluster): Problem[] {
  const parsed = specSchema.safeParse(spec);
  if (parsed.success) return [];
  return parsed.error.issues.map(({ path, message }) => ({
    field: pathText('spec', path),
    reason: message,
  }));
}

function nameProblems({ metadata: { name = '' } }: KubernetesCluster): Problem[] {
  if (name.length > MAX_NAME)
    return [{ field: 'metadata.name', value: name, reason: `is longer than ${MAX_NAME} characters` }];
  if (DNS_LABEL.test(name)) return [];
  return [
    {
      field: 'metadata.name',
      value: name,
      reason: 'is not a DNS label; use lower-case letters, digits and "-"',
    },
  ];
}

/**
 * Refuses writes of the controller's annotations, also while the object is being deleted. An object that is created with a
 * cluster-id is a restored one, or a copy: it brings these annotations with it, and the controller checks which object has
 * the id.
 */
export function guarded(change: Pick<Change, 'old' | 'next'>): Problem[] {
  const { old, next } = change;
  const problems: Problem[] = [];
  const value = annotationOf(next, annotations.operation);
  const restored = !old && annotationOf(next, annotations.clusterId) !== undefined;
  if (isResultValue(value) && !same(change, annotations.operation) && !restored) {
    problems.push({
      field: at(annotations.operation),
      value,
      reason: 'is the result of an operation; only the controller may write it',
    });
  }
  const id = annotationOf(next, annotations.clusterId);
  if (id !== undefined && !same(change, annotations.clusterId) && !DNS_LABEL.test(id)) {
    const reason =
      'is no cluster-id, which is letters, digits and "-"; leave it out, or restore the whole object';
    problems.push({ field: at(annotations.clusterId), value: id.slice(0, 100), reason });
  }
  for (const name of [
    annotations.clusterId,
    annotations.applied,
    annotations.appliedSpec,
    annotations.remediedAt,
    annotations.renewedAt,
    annotations.snapshotAskedAt,
  ]) {
    if (!same(change, name) && !restored) {
      const reason = `is written by the controller alone${old ? '; it can be neither changed nor dropped' : ''}`;
      problems.push({ field: at(name), reason });
    }
  }
  return problems;
}

/** Refuses edits of a spec by the controller, except for the one edit that the user's policy orders. */
function editedByItself({ old, next }: Change): Problem[] {
  if (!old || !differs(old.spec, next.spec)) return [];
  if (
    annotationOf(next, annotations.operation) === OPERATION_VALUES.replace.asked &&
    isRemediation(old.spec, next.spec)
  )
    return [];
  const reason =
    'can be edited by the controller only to put a host of spec.policy.replaceFrom in the place of a control plane';
  return [{ field: 'spec', reason }];
}

function immutable({ old, next }: Change): Problem[] {
  if (!old) return [];
  return IMMUTABLE.filter((field) => differs(old.spec.cluster[field], next.spec.cluster[field])).map(
    (field) => ({
      field: `spec.cluster.${field}`,
      value: next.spec.cluster[field],
      reason: 'cannot be changed',
    }),
  );
}

/** Refuses an edit without an operation annotation if no operation could change its fields. */
function undeclarable({ old, next, hosts }: Change): Problem[] {
  const applied = old && comingSpec(old, hosts);
  const value = annotationOf(next, annotations.operation);
  // A manifest may keep "creating" forever: once the cluster exists, the value requests nothing.
  const asks = operationAsked(value) !== undefined && value !== OPERATION_VALUES.create.asked;
  if (!applied || asks) return [];
  const inference = infer(applied, next.spec);
  if (inference.kind !== 'not-offered') return [];
  // A field that was absent means "unchanged".
  const before = { ...old.spec, addons: { ...applied.addons, ...old.spec.addons } };
  const touched = new Set(changesBetween(before, next.spec).map(({ field }) => field));
  return [...new Set(inference.fields)]
    .filter((field) => touched.has(field))
    .map((field) => ({ field, reason: `NotOffered: ${inference.message}` }));
}

function dryRun(change: Change): Problem[] {
  const value = annotationOf(change.next, annotations.dryRun) ?? '';
  if (value === '' || value === 'All' || same(change, annotations.dryRun)) return [];
  return [
    { field: at(annotations.dryRun), value, reason: 'is not "All"; write that, or remove the annotation' },
  ];
}

/** Status keeps the request-id of each operation. */
const MAX_REQUEST_ID = 253;

function requestId(change: Change): Problem[] {
  const value = annotationOf(change.next, annotations.requestId) ?? '';
  if (value.length <= MAX_REQUEST_ID || same(change, annotations.requestId)) return [];
  const reason = `is longer than ${MAX_REQUEST_ID} characters; a UUID is enough`;
  return [{ field: at(annotations.requestId), value: value.slice(0, MAX_REQUEST_ID), reason }];
}

/** Whether the operation was carried out for this very request. The controller only writes its result again. */
function isRepeated({ old, next }: Change, word: string): boolean {
  if (!old) return false;
  const requestId = annotationOf(next, annotations.requestId) ?? '';
  return acceptedAs(old, { word, requestId, specHash: specHashOf(next.spec) })?.result !== undefined;
}

/** Refuses an operation annotation that cannot be carried out for this spec. */
function requested(change: Change, specChanged: boolean): Problem[] {
  const { old, next } = change;
  const value = annotationOf(next, annotations.operation);
  const asksAnew =
    !same(change, annotations.operation) || !same(change, annotations.requestId) || specChanged;
  if (value === undefined || value === '' || isResultValue(value) || !asksAnew) return [];
  const field = at(annotations.operation);
  const name = operationAsked(value);
  if (!name) {
    const known = ALL_OPERATION_VALUES.filter((text) => findOperation(operationAsked(text)));
    return [{ field, value, reason: `is not an operation; choose one of ${known.join(', ')}` }];
  }
  const operation = findOperation(name);
  if (!operation) return [{ field, value, reason: 'NotOffered: the operation is not implemented' }];
  if (isRepeated(change, value)) return [];
  // The cluster exists: fields that its manifest leaves out are an edit, which waits for its own operation annotation.
  if (name === 'create' && appliedOperation(old ?? next)) return [];
  const { version, requests } = (old ?? next).status ?? {};
  const applied = comingSpec(old ?? next, change.hosts);
  const { hosts, offer } = change;
  const restore = restoreIn(next);
  return operation.check({ spec: next.spec, applied, hosts, offer, version, restore, requests });
}
