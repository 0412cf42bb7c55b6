import type { Stated } from '#api/conditions.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Verdict } from '../../decide/snapshot.ts';

/**
 * Returns what to report after a probe. A good finding is reported at once; a bad or unknown one after two consecutive
 * probes. Another message is reported after two consecutive probes with the very same one. A host checks its own drift twice
 * before it reports, so drift is reported at once. `told` is the report before, `last` is the finding of the probe before
 * this one.
 */
export function debounce(reported: Verdict, last: Verdict | undefined, now: Verdict): Verdict {
  const conditions = new Map(reported.conditions.map((one) => [one.type, one]));
  let nodes = reported.nodes;
  for (const next of now.conditions) {
    const counts = isFact(conditions.get(next.type), find(last, next.type), next);
    if (counts) conditions.set(next.type, next);
    // The node counts change together with their condition.
    if (counts && next.type === 'HostsReachable') nodes = now.nodes;
  }
  return { conditions: [...conditions.values()], ...(nodes ? { nodes } : {}) };
}

const find = (verdict: Verdict | undefined, type: string): Stated | undefined =>
  verdict?.conditions.find((one) => one.type === type);

function isFact(reported: Stated | undefined, last: Stated | undefined, next: Stated): boolean {
  if (next.status === 'True' || next.reason === 'Drifted') return true;
  if (!last || last.status === 'True') return false;
  return reported === undefined || reported.status === 'True' || canonicalJson(last) === canonicalJson(next);
}
