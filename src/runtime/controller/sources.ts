import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Informer } from '../cache/informer.ts';
import { keyOf } from '../cache/object-key.ts';
import { matchesSelector } from '../client/label-selector.ts';
import { apiVersionOf } from '../wire/resource-path.ts';

/** Whether a change needs a reconcile. `before` is absent for a new object, `after` for a deleted one. */
export type Predicate<T> = (change: { before?: T | undefined; after?: T | undefined }) => boolean;

/** Another kind whose changes concern the controller: `map` returns the keys for a changed object. */
export interface Watch {
  informer: Informer<KubeObject>;
  map(object: KubeObject): readonly ObjectKey[];
  /** Filters updates before `map`; absent: all pass. Creations, deletions and resyncs always pass. */
  when?: Predicate<KubeObject>;
}

/** Creates a watch whose `map` gets the informer's own type. */
export function watching<T extends KubeObject>(
  informer: Informer<T>,
  map: (object: T) => readonly ObjectKey[],
  when?: Predicate<KubeObject>,
): { informer: Informer<T>; map(object: T): readonly ObjectKey[]; when?: Predicate<KubeObject> } {
  return { informer, map, ...(when ? { when } : {}) };
}

/** Passes if the spec changed, not only the status (controller-runtime GenerationChangedPredicate). */
export const generationChanged: Predicate<KubeObject> = ({ before, after }) =>
  !before || !after || before.metadata.generation !== after.metadata.generation;

/** Passes if the labels changed (controller-runtime LabelChangedPredicate). */
export const labelsChanged: Predicate<KubeObject> = ({ before, after }) =>
  !before || !after || canonicalJson(before.metadata.labels) !== canonicalJson(after.metadata.labels);

/** Whether an informer will show that object: by its kind, namespace, labels and name. */
export function shows(
  { resource, selection }: Pick<Informer<KubeObject>, 'resource' | 'selection'>,
  { apiVersion, kind, metadata }: KubeObject,
): boolean {
  const { namespace, labelSelector, fieldSelector } = selection;
  return (
    resource.kind === kind &&
    apiVersionOf(resource) === apiVersion &&
    (namespace === undefined || namespace === metadata.namespace) &&
    (labelSelector === undefined || matchesSelector(labelSelector, metadata.labels)) &&
    // The server alone evaluates other fields. Waiting for a bookmark is safer than deciding on an old state.
    (fieldSelector === undefined ||
      !fieldSelector.startsWith('metadata.name=') ||
      fieldSelector === `metadata.name=${metadata.name}`)
  );
}

/** Whether an informer may have shown an object of which only the key is known. */
export function mayShow(
  { resource, selection }: Pick<Informer<KubeObject>, 'resource' | 'selection'>,
  kind: Resource,
  { namespace }: ObjectKey,
): boolean {
  return (
    resource.group === kind.group &&
    resource.plural === kind.plural &&
    (selection.namespace === undefined || selection.namespace === namespace)
  );
}

/** Returns the key of the object's controlling owner, if that is of kind `owner`. */
function ownerKey(object: KubeObject, owner: Resource): ObjectKey | undefined {
  const group = (apiVersion: string) => (apiVersion.includes('/') ? apiVersion.split('/')[0] : '');
  const reference = object.metadata.ownerReferences?.find(
    (candidate) =>
      candidate.controller === true &&
      candidate.kind === owner.kind &&
      // Any version of the group matches, because references outlive versions.
      group(candidate.apiVersion) === group(apiVersionOf(owner)),
  );
  if (!reference) return undefined;
  return { namespace: owner.namespaced ? (object.metadata.namespace ?? '') : '', name: reference.name };
}

/**
 * Adds the keys that each change of the sources concerns to a queue. An update counts for the old and the new object, since
 * a changed label or owner concerns two. Returns a function that ends it.
 */
export function subscribe<T extends KubeObject>(
  sources: {
    for: Informer<T>;
    predicates?: readonly Predicate<T>[] | undefined;
    urgent?: ((object: T) => boolean) | undefined;
    owns: readonly Informer<KubeObject>[];
    watches: readonly Watch[];
  },
  enqueue: (key: ObjectKey, low: boolean) => void,
): () => void {
  const { predicates = [] } = sources;
  const { urgent = () => false } = sources;
  const passes: Predicate<T> = (change) => predicates.every((predicate) => predicate(change));
  const leave = [
    sources.for.addHandler({
      add: (after, { initial }) => {
        if (passes({ after })) enqueue(keyOf(after), initial && !urgent(after));
      },
      update: (before, after, { initial, resync }) => {
        if (resync || passes({ before, after })) enqueue(keyOf(after), initial || resync);
      },
      delete: (before) => {
        if (passes({ before })) enqueue(keyOf(before), false);
      },
    }),
  ];
  const owner = sources.for.resource;
  const owned = sources.owns.map((informer) =>
    watching(informer, (object) => [ownerKey(object, owner)].filter((key) => key !== undefined)),
  );
  const watches: readonly Watch[] = [...owned, ...sources.watches];
  for (const { informer, map, when = () => true } of watches) {
    const each = (objects: readonly KubeObject[], low: boolean) => {
      for (const object of objects) for (const key of map(object)) enqueue(key, low);
    };
    leave.push(
      informer.addHandler({
        add: (after, { initial }) => each([after], initial),
        update: (before, after, { initial, resync }) => {
          if (resync) each([after], true);
          else if (when({ before, after })) each([before, after], initial);
        },
        delete: (before) => each([before], false),
      }),
    );
  }
  return () => {
    for (const one of leave) one();
  };
}
