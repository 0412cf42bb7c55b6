import type { Stated } from '#api/conditions.ts';
import { reportsOf } from './host-reports.ts';
import type { DriftSeen, Expected, Seen } from './seen.ts';
import { named, stated } from './wording.ts';

const TYPE = 'HostsAsMade';
/** Most differences that a message lists for a host. */
const MAX_THINGS = 3;
const MEND =
  'set the operation to "repairing" (REST: POST …/repair) to put it back; on a host the journal of unit matryoshka-watch names all of it';

/**
 * Decides whether each host matches its baseline, by its own report. Control planes pass on the reports of external etcd
 * hosts.
 */
export function judgeDrift({ blind, nodes }: Seen, hosts: readonly Expected[]): Stated {
  if (blind) return stated(TYPE, 'Unknown', blind.reason, blind.message);
  if (!nodes) return stated(TYPE, 'Unknown', 'NotObserved', 'no API server reports its nodes');
  const reported = reportsOf(nodes, hosts);
  // Another condition covers a host whose node is missing.
  const joined = hosts.filter(({ joined, hasNode, name }) => joined && (!hasNode || reported.has(name)));
  const drifted = joined.flatMap((host) => reportOf(host, reported.get(host.name)));
  if (drifted.length > 0)
    return stated(
      TYPE,
      'False',
      'Drifted',
      `${drifted.length === 1 ? '1 host differs' : `${drifted.length} hosts differ`} from what was made: ${named(drifted, '; ')}; ${MEND}`,
    );
  const silent = joined.filter(({ name }) => !reported.get(name)).map(({ name }) => name);
  return silent.length > 0
    ? stated(
        TYPE,
        'Unknown',
        'NotTold',
        `no report shows whether these hosts match their baseline: ${named(silent)}`,
      )
    : stated(TYPE, 'True', 'AsMade', 'every host matches its baseline');
}

function reportOf({ name, ip }: Expected, drift: DriftSeen | undefined): string[] {
  if (!drift || drift.count === 0) return [];
  const reported = drift.things.slice(0, MAX_THINGS);
  const more = drift.count - reported.length;
  return [
    `${name} (${ip}): ${reported.join(', ')}${more > 0 ? `${reported.length > 0 ? ' and ' : ''}${more} more` : ''}`,
  ];
}
