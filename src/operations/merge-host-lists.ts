import { canonicalIp, type HostEntry, LISTS, type ListName } from '#api/host.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';

/** A host list without duplicates. */
export interface Merged {
  hosts: HostEntry[];
  /** The first index of each host in the given list. */
  places: number[];
  problems: Problem[];
}

const FIELDS = ['role', 'name', 'port', 'user', 'labels', 'taints', 'reclaim'] as const;

/** Merges the entries of one host. Fields that both entries have must be equal. */
export function mergeHosts(list: ListName, given: readonly HostEntry[]): Merged {
  const merged: Merged = { hosts: [], places: [], problems: [] };
  const at = new Map<string, number>();
  for (const [index, entry] of given.entries()) {
    const ip = canonicalIp(entry.ip) ?? entry.ip;
    const position = at.get(ip);
    const known = position === undefined ? undefined : merged.hosts[position];
    if (position === undefined || !known) {
      at.set(ip, merged.hosts.length);
      merged.hosts.push(entry);
      merged.places.push(index);
      continue;
    }
    const differing = FIELDS.filter(
      (field) =>
        entry[field] !== undefined &&
        known[field] !== undefined &&
        canonicalJson(entry[field]) !== canonicalJson(known[field]),
    );
    for (const field of differing) {
      merged.problems.push({
        field: `${list}[${index}].${field}`,
        reason: `contradicts ${list}[${merged.places[position]}], which is the same host ${ip}`,
      });
    }
    merged.hosts[position] = { ...entry, ...withoutAbsent(known) };
  }
  return merged;
}

/** Returns the entry without undefined fields, so that it can be spread over another. */
function withoutAbsent(entry: HostEntry): HostEntry {
  const { ip, ...rest } = entry;
  return { ip, ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) };
}

/** Merges all lists of a body, and returns a function that restores the client's indexes in problems. */
export function mergeLists(body: Partial<Record<ListName, HostEntry[] | undefined>>): {
  lists: Partial<Record<ListName, HostEntry[]>>;
  problems: Problem[];
  /** Returns the problem with the index that the host had in the body. */
  placed(problem: Problem): Problem;
} {
  const merged = new Map<string, Merged>();
  for (const list of LISTS) {
    const given = body[list];
    if (given) merged.set(list, mergeHosts(list, given));
  }
  return {
    lists: Object.fromEntries([...merged].map(([list, { hosts }]) => [list, hosts])),
    problems: [...merged.values()].flatMap(({ problems }) => problems),
    placed: (problem) => ({
      ...problem,
      field: problem.field.replace(/^([A-Za-z]+)\[(\d+)\]/, (whole, list: string, index: string) => {
        const place = merged.get(list)?.places[Number(index)];
        return place === undefined ? whole : `${list}[${place}]`;
      }),
    }),
  };
}

/** Returns the given list; fields that an entry of a known host leaves out stay unchanged. */
export function laidOver(
  present: readonly HostEntry[] | undefined,
  given: readonly HostEntry[],
): HostEntry[] {
  const known = new Map((present ?? []).map((host) => [canonicalIp(host.ip) ?? host.ip, host]));
  return given.map((host) => ({ ...known.get(canonicalIp(host.ip) ?? host.ip), ...withoutAbsent(host) }));
}
