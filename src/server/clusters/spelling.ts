import { canonicalIp, LISTS } from '#api/host.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import { asSpelledByRest } from '../http/problems.ts';

/** Returns the place of a host in the first list of a spec that has it. */
function placeOf({ cluster }: Spec, ip: string): string | undefined {
  for (const list of LISTS) {
    const index = (cluster[list] ?? []).findIndex((host) => (canonicalIp(host.ip) ?? host.ip) === ip);
    if (index >= 0) return `${list}[${index}]`;
  }
  return undefined;
}

/**
 * Returns problems with the request's field names: a host by its place in the body's lists, an annotation of the object by
 * the cluster's name. `names` are names of the body. `placed` maps a place in a merged list to its place in the body.
 */
export const spelledFor =
  (spec: Spec, placed: (problem: Problem) => Problem, names: Readonly<Record<string, string>> = {}) =>
  (problem: Problem): Problem => {
    const name = names[problem.field];
    if (name !== undefined) return { ...problem, field: name };
    if (problem.field.startsWith('metadata.')) return { ...problem, field: 'name' };
    const [, named, rest = ''] = /^spec\.cluster(?:\[([^\]]+)\])?(\..+)?$/.exec(problem.field) ?? [];
    const ip = named ?? (problem.field === 'spec.cluster' ? problem.value : undefined);
    const place = typeof ip === 'string' ? placeOf(spec, ip) : undefined;
    return placed(
      place === undefined ? asSpelledByRest(problem) : { ...problem, field: `${place}${rest || '.ip'}` },
    );
  };
