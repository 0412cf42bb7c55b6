import { isMaster } from '#api/member.ts';
import { ownerOf } from '#precheck/checks/owner.ts';
import type { PrecheckProblem } from '#precheck/run.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import { STALE_RUN } from './hosts-ahead.ts';
import { type Found, machineProblems } from './machines.ts';

type HostsOfRun = Pick<RunSpec, 'hosts' | 'cluster' | 'knownMachines'>;

/**
 * Leaving hosts that no play may touch: those that are away, those that do not say themselves that they belong to this
 * cluster, and those where another machine answers. A record alone is no proof: it may name a mistyped address.
 */
function leftAsTheyAre(runSpec: HostsOfRun, found: Found): string[] {
  const changed = new Set(machineProblems(runSpec, found).map(({ ip }) => ip));
  const leaving = runSpec.hosts.filter(({ action }) => action === 'leave').map(({ member }) => member.ip);
  return leaving.filter((ip) => {
    const answer = found.said.get(ip);
    const owner = answer && ownerOf(answer);
    return changed.has(ip) || !owner || owner.released || owner.clusterId !== runSpec.cluster.id;
  });
}

/**
 * Hosts that would only be asked, or that may be away, and do not answer, while a control plane does: the work is done
 * without them. Where a
 * member of etcd counts, the playbook refuses by itself to change an etcd that is not whole.
 */
function notNeeded({ hosts }: HostsOfRun, { said, problems }: Found): string[] {
  const asked = hosts.some(
    ({ member, action }) =>
      isMaster(member) && (action === 'stay' || action === 'change') && said.has(member.ip),
  );
  const away = new Set(problems.filter(({ check }) => check === 'Unreachable').map(({ ip }) => ip));
  return hosts.flatMap(({ member: { ip }, action, mayBeAway }) =>
    asked && (action === 'stay' || mayBeAway) && away.has(ip) ? [ip] : [],
  );
}

/**
 * Whether a host's problem ends the run. Hosts that leave may be away or changed, and so may one that nobody needs; one that
 * shows another host key is for a person to look at, but where every host leaves: that always ends, and it is left alone. A
 * host that a later operation has taken ends every run: a deletion would leave it as it is.
 */
export function isGrave(
  { ip, check }: Pick<PrecheckProblem, 'ip' | 'check'>,
  { hosts }: HostsOfRun,
  untouched: ReadonlySet<string>,
): boolean {
  const leaves = hosts.some(({ member, action }) => member.ip === ip && action === 'leave');
  const allLeave = hosts.every(({ action }) => action === 'leave');
  return check === STALE_RUN || !(leaves || untouched.has(ip)) || (check === 'HostKeyChanged' && !allLeave);
}

/** Hosts of the run spec that no play connects to. */
export const leftAlone = (runSpec: HostsOfRun, found: Found): Set<string> =>
  new Set([...leftAsTheyAre(runSpec, found), ...notNeeded(runSpec, found)]);
