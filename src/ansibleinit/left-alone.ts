import { isMaster } from '#api/cluster-host.ts';
import { ownerOf } from '#precheck/checks/owner.ts';
import type { PrecheckProblem } from '#precheck/run.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import { STALE_RUN } from './hosts-ahead.ts';
import { type Found, machineProblems } from './machines.ts';

type HostsOfRun = Pick<RunSpec, 'hosts' | 'cluster' | 'knownMachines' | 'snapshot'>;

/**
 * Returns leaving hosts that no play may touch: hosts that are away, hosts whose owner file does not name this cluster, and
 * hosts whose address another machine answers. A record alone is no proof: it may name a mistyped address.
 */
function leftAsTheyAre(runSpec: HostsOfRun, found: Found): string[] {
  const changed = new Set(machineProblems(runSpec, found).map(({ ip }) => ip));
  const leaving = runSpec.hosts.filter(({ action }) => action === 'leave').map(({ member: host }) => host.ip);
  return leaving.filter((ip) => {
    const answer = found.said.get(ip);
    const owner = answer && ownerOf(answer);
    return changed.has(ip) || !owner || owner.released || owner.clusterId !== runSpec.cluster.id;
  });
}

/**
 * Returns unreachable hosts that the run can do without: hosts that it would only ask, or that may be away, while a control
 * plane answers. If they have etcd members, the playbook itself refuses to change an incomplete etcd.
 */
function notNeeded({ hosts }: HostsOfRun, { said, problems }: Found): string[] {
  const asked = hosts.some(
    ({ member: host, action }) =>
      isMaster(host) && (action === 'stay' || action === 'change') && said.has(host.ip),
  );
  // A restore makes all control planes anew, and does without workers that are away.
  const masters = hosts.filter(({ member: host, action }) => isMaster(host) && action !== 'leave');
  const remade = masters.length > 0 && masters.every(({ action }) => action === 'join');
  const away = new Set(problems.filter(({ check }) => check === 'Unreachable').map(({ ip }) => ip));
  return hosts.flatMap(({ member: { ip }, action, mayBeAway }) =>
    (asked || remade) && (action === 'stay' || mayBeAway) && away.has(ip) ? [ip] : [],
  );
}

/**
 * Whether a host's problem ends the run. Leaving hosts may be away or changed, and so may hosts that the run does not need.
 * A changed host key needs a user, unless every host leaves: a deletion must always end, so it leaves that host alone. A
 * host that a later operation has taken ends every run, because a deletion would leave it unchanged. A former control plane
 * that runs, and that cannot be stopped, would serve clients beside the restored one.
 */
export function isGrave(
  { ip, check }: Pick<PrecheckProblem, 'ip' | 'check'>,
  { hosts, snapshot }: HostsOfRun,
  untouched: ReadonlySet<string>,
): boolean {
  const leaves = hosts.some(({ member: host, action }) => host.ip === ip && action === 'leave');
  const allLeave = hosts.every(({ action }) => action === 'leave');
  if (leaves && snapshot?.task === 'load' && check === 'AuthenticationFailed') return true;
  return check === STALE_RUN || !(leaves || untouched.has(ip)) || (check === 'HostKeyChanged' && !allLeave);
}

/** Returns the hosts of the run spec to which no play connects. */
export const leftAlone = (runSpec: HostsOfRun, found: Found): Set<string> =>
  new Set([...leftAsTheyAre(runSpec, found), ...notNeeded(runSpec, found)]);
