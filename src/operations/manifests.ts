import type { Spec } from '#api/kubernetes-cluster.ts';
import type { PinnedFile } from '#api/pinned-file.ts';
import type { Problem } from '#base/errors.ts';
import type { Step } from '#protocol/run-spec.ts';

/** A user's own manifests (`spec.addons.manifests`). Only a creation applies them. */

/** The step that applies manifests; a plan without it applies none. */
export const APPLY_MANIFESTS = 'Apply manifests';

const FIELD = 'spec.addons.manifests';

export const manifestsOf = ({ addons }: Pick<Spec, 'addons'>): readonly PinnedFile[] =>
  addons?.manifests ?? [];

/** Whether a plan applies manifests. */
export const appliesManifests = (steps: readonly Pick<Step, 'name'>[]): boolean =>
  steps.some(({ name }) => name === APPLY_MANIFESTS);

/** Returns the place of a file in the spec. */
export const manifestField = (index: number): string => `${FIELD}[${index}]`;

/** Returns the problems of the list itself; the files are validated when they are read. */
export function manifestProblems(spec: Spec): Problem[] {
  const first = new Map<string, number>();
  return manifestsOf(spec).flatMap(({ configMap, key }, index): Problem[] => {
    const file = `${configMap}/${key}`;
    const before = first.get(file);
    if (before === undefined) first.set(file, index);
    if (before === undefined) return [];
    const reason = `names the same file as ${manifestField(before)}; name each once`;
    return [{ field: manifestField(index), value: file, reason }];
  });
}

/** Returns warnings for the approval of a plan that applies files. */
export const manifestWarnings = (spec: Spec, steps: readonly Step[]): Problem[] =>
  appliesManifests(steps)
    ? [
        {
          field: FIELD,
          reason: `files are applied with the rights of an administrator of the cluster: ${namesOf(spec)}`,
        },
      ]
    : [];

/** Leaves space for the other warnings of a plan. */
const MAX_NAMES = 600;

function namesOf(spec: Spec): string {
  const names = manifestsOf(spec).map(({ configMap, key }) => `${configMap}/${key}`);
  const text = names.join(', ');
  return text.length <= MAX_NAMES ? text : `${text.slice(0, MAX_NAMES)}… (${names.length} files)`;
}
