import { canonicalIp, type HostEntry, LISTS, type ListName } from '#api/host.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';

/** A list in which each host stands once. */
export interface Merged {
  hosts: HostEntry[];
  /** Where each of them stood first in the list that was given. */
  places: number[];
  problems: Problem[];
}

const FIELDS = ['role', 'name', 'port', 'user', 'labels', 'taints', 'reclaim'] as const;

/** Merges entries of one host: what one leaves out the other may say; where both speak they must agree. */
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

/** The entry without fields that are undefined, so that it can be laid over another. */
function withoutAbsent(entry: HostEntry): HostEntry {
  const { ip, ...rest } = entry;
  return { ip, ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) };
}

/** All lists of a body, merged, and a way to name a place in them as the client did. */
export function mergeLists(body: Partial<Record<ListName, HostEntry[] | undefined>>): {
  lists: Partial<Record<ListName, HostEntry[]>>;
  problems: Problem[];
  /** The problem with the index that the host had in the body. */
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

/** A host list where what a known host's entry leaves out stays as it is. */
export function laidOver(
  present: readonly HostEntry[] | undefined,
  given: readonly HostEntry[],
): HostEntry[] {
  const known = new Map((present ?? []).map((host) => [canonicalIp(host.ip) ?? host.ip, host]));
  return given.map((host) => ({ ...known.get(canonicalIp(host.ip) ?? host.ip), ...withoutAbsent(host) }));
}
