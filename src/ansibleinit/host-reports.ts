import { ownerOf, UNREADABLE } from '#precheck/checks/owner.ts';
import type { PrecheckResult } from '#precheck/run.ts';
import type { HostResult } from '#protocol/event.ts';
import type { HostReport } from '#protocol/report.ts';
import type { PlannedHost, RunSpec } from '#protocol/run-spec.ts';
import { machineProblems } from './machines.ts';

/** Findings of a run about its hosts, by address. */
export interface Findings {
  found: PrecheckResult;
  failures: Map<string, string>;
  /** Results of the playbook's scripts. */
  played: Map<string, Set<HostResult>>;
  versions: Map<string, Record<string, string>>;
  /** Steps that reached a host, in order. */
  steps: string[];
  /** Whether a task was interrupted, so that its progress is unknown. */
  cutShort: boolean;
  /** Leaving hosts that no play touched. */
  untouched: ReadonlySet<string>;
}

const MAX_MESSAGE = 300;

/**
 * Returns the reason why a leaving host may still carry parts of this cluster: its owner file is unreadable, or is missing
 * on the machine that had joined. A host whose owner file names another cluster carries none.
 */
function unreported(
  { member: { ip }, action, machineId }: PlannedHost,
  findings: Findings,
): string | undefined {
  const said = findings.found.said.get(ip);
  if (action !== 'leave' || !said || !findings.untouched.has(ip)) return undefined;
  const owner = ownerOf(said);
  if (owner?.clusterId === UNREADABLE)
    return 'its owner file, /etc/matryoshka/owner.json, cannot be read; nothing on it was touched';
  return !owner && machineId !== undefined && said.text('machineId') === machineId
    ? 'its owner file /etc/matryoshka/owner.json is missing; nothing on it was changed'
    : undefined;
}

/** Whether a host is in the state that its action asks for. */
function isDone(host: PlannedHost, findings: Findings, complete: boolean): boolean {
  const {
    member: { ip },
    action,
  } = host;
  const { failures, played, untouched, found } = findings;
  if (failures.has(ip) || unreported(host, findings) !== undefined) return false;
  if (action === 'join') return played.get(ip)?.has('joined') ?? false;
  if (action === 'leave')
    return (untouched.has(ip) && found.said.has(ip)) || (played.get(ip)?.has('reset') ?? false);
  if (action === 'change') return complete && (played.get(ip)?.has('changed') ?? false);
  return complete;
}

/** Returns the keys of a host from lines of known_hosts, without its name. */
const hostKeysOf = (knownHosts: string, ip: string): string[] =>
  knownHosts.split('\n').flatMap((line) => {
    const [name = '', ...key] = line.trim().split(' ');
    return name === ip || name.startsWith(`[${ip}]:`) ? [key.join(' ')] : [];
  });

/** Returns a report of every host of the run spec, for a failed run too. */
export function hostReports(runSpec: RunSpec, findings: Findings, complete: boolean): HostReport[] {
  // Keys and ids of these machines must not be recorded for this cluster.
  const strangers = new Set(machineProblems(runSpec, findings.found).map(({ ip }) => ip));
  return runSpec.hosts.map((host) => {
    const { ip } = host.member;
    const message = findings.failures.get(ip) ?? unreported(host, findings);
    const isStranger = strangers.has(ip);
    const machineId = isStranger ? '' : findings.found.said.get(ip)?.text('machineId');
    const hostKeys = isStranger ? [] : hostKeysOf(findings.found.knownHosts, ip);
    const versions = findings.versions.get(ip);
    return {
      ip,
      ok: isDone(host, findings, complete),
      did: [...(findings.played.get(ip) ?? [])],
      ...(message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE) }),
      ...(machineId === undefined || machineId === '' ? {} : { machineId }),
      ...(hostKeys.length === 0 ? {} : { hostKeys }),
      ...(versions === undefined ? {} : { versions }),
    };
  });
}
