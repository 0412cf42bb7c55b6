import type { Stated } from '#api/conditions.ts';
import type { Expected, NodeSeen, Seen } from './seen.ts';
import { named, stated } from './words.ts';

const TYPE = 'HostsAsMade';
/** How many things are named of a host. */
const MAX_THINGS = 3;
const MEND =
  'set the operation to "repairing" (REST: POST …/repair) to put it back; on a host the journal of unit matryoshka-watch names all of it';

/** Whether each host is as we made it, by its own word. Hosts that have etcd alone run no kubelet, and tell nothing. */
export function judgeDrift({ blind, nodes }: Seen, hosts: readonly Expected[]): Stated {
  if (blind) return stated(TYPE, 'Unknown', blind.reason, blind.message);
  if (!nodes) return stated(TYPE, 'Unknown', 'NotObserved', 'no API server tells of its nodes');
  const seen = new Map(nodes.map((node) => [node.name, node]));
  const joined = hosts.filter(({ joined, hasNode, name }) => joined && hasNode && seen.has(name));
  const drifted = joined.flatMap((host) => tellOf(host, seen.get(host.name)?.drift));
  if (drifted.length > 0)
    return stated(
      TYPE,
      'False',
      'Drifted',
      `${drifted.length === 1 ? '1 host differs' : `${drifted.length} hosts differ`} from what was made: ${named(drifted, '; ')}; ${MEND}`,
    );
  const silent = joined.filter(({ name }) => !seen.get(name)?.drift).map(({ name }) => name);
  return silent.length > 0
    ? stated(
        TYPE,
        'Unknown',
        'NotTold',
        `nothing tells whether these hosts are as they were made: ${named(silent)}`,
      )
    : stated(TYPE, 'True', 'AsMade', 'every host tells that it is as it was made');
}

function tellOf({ name, ip }: Expected, drift: NodeSeen['drift']): string[] {
  if (!drift || drift.count === 0) return [];
  const told = drift.things.slice(0, MAX_THINGS);
  const more = drift.count - told.length;
  return [
    `${name} (${ip}): ${told.join(', ')}${more > 0 ? `${told.length > 0 ? ' and ' : ''}${more} more` : ''}`,
  ];
}
