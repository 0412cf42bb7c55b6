import { z } from 'zod';
import { PATCH_TYPES, type Patch } from '#api/patches.ts';
import type { Problem } from '#base/errors.ts';

const at = (index: number, field: string): string => `spec.cluster.kubeadm.patches[${index}]${field}`;
const POINTER = /^(\/([^~]|~[01])*)+$/;

/** Returns what kubeadm would refuse only on the host, and what breaks later operations. */
export const patchProblems = (patches: readonly Patch[]): Problem[] =>
  patches.flatMap((patch, index): Problem[] => {
    const given = PATCH_TYPES.filter((type) => patch[type] !== undefined);
    if (given.length !== 1) {
      const reason = `has ${given.length === 0 ? 'no patch' : given.join(' and ')}; write one of ${PATCH_TYPES.join(', ')}`;
      return [{ field: at(index, ''), reason }];
    }
    return [...pathProblems(patch, index), ...commandProblems(patch, index)];
  });

function pathProblems({ json = [] }: Patch, index: number): Problem[] {
  return json.flatMap(({ op, path, from, value }, place): Problem[] => {
    const field = at(index, `.json[${place}]`);
    const problems: Problem[] = [];
    for (const [name, pointer] of [['path', path] as const, ['from', from] as const]) {
      if (pointer === undefined || POINTER.test(pointer)) continue;
      const reason = 'is no JSON pointer; write it like /spec/containers/0/command/-';
      problems.push({ field: `${field}.${name}`, value: pointer, reason });
    }
    const needs = op === 'move' || op === 'copy' ? 'from' : op === 'remove' ? undefined : 'value';
    if (needs !== undefined && (needs === 'from' ? from : value) === undefined)
      problems.push({ field: `${field}.${needs}`, reason: `is required for "${op}"` });
    return problems;
  });
}

/** Matches a path in a manifest whose change also replaces the whole command. */
const WHOLE = /^(\/spec(\/containers(\/\d+(\/command)?)?)?)?$/;
const AROUND = z.looseObject({
  spec: z
    .looseObject({ containers: z.array(z.looseObject({})).optional() })
    .nullable()
    .optional(),
});

/** Refuses patches that replace the whole command: operations change arguments of API servers by their names. */
function commandProblems({ strategic, merge, json = [] }: Patch, index: number): Problem[] {
  const byPath = json.some(
    ({ op, path, from = '/none' }) =>
      op !== 'test' && (WHOLE.test(path) || (op === 'move' && WHOLE.test(from))),
  );
  const loses: Record<string, boolean> = {
    json: byPath,
    merge: merge !== undefined && replacesContainers(merge),
    strategic: strategic !== undefined && replacesCommand(strategic),
  };
  return Object.entries(loses).flatMap(([type, isLost]) => {
    if (!isLost) return [];
    const reason =
      'would replace the whole command, which operations go by; add arguments by json, with the path /spec/containers/0/command/-';
    return [{ field: at(index, `.${type}`), reason }];
  });
}

/** Whether a merge patch replaces the containers; it replaces whole lists (RFC 7386). */
function replacesContainers(patch: unknown): boolean {
  const parsed = AROUND.safeParse(patch);
  return !parsed.success || parsed.data.spec === null || parsed.data.spec?.containers !== undefined;
}

function replacesCommand(patch: unknown): boolean {
  const parsed = AROUND.safeParse(patch);
  if (!parsed.success || parsed.data.spec === null) return true;
  const containers = parsed.data.spec?.containers ?? [];
  return JSON.stringify(patch).includes('"$patch"') || containers.some((one) => 'command' in one);
}
