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
  /** What the playbook's scripts achieved. */
  played: Map<string, Set<HostResult>>;
  versions: Map<string, Record<string, string>>;
  /** Steps that came to a host, in order. */
  steps: string[];
  /** Whether a task was cut off, so that nobody knows how far it came. */
  cutShort: boolean;
  /** Hosts that leave and that no play touched. */
  untouched: ReadonlySet<string>;
}

const MAX_MESSAGE = 300;

/**
 * Why nobody knows whether a host that leaves carries something of this cluster: its owner file does not tell, and it is
 * the machine that had joined. One that is another's by its own word carries nothing.
 */
function untold({ member: { ip }, action, machineId }: PlannedHost, findings: Findings): string | undefined {
  const said = findings.found.said.get(ip);
  if (action !== 'leave' || !said || !findings.untouched.has(ip)) return undefined;
  const owner = ownerOf(said);
  if (owner?.clusterId === UNREADABLE)
    return 'its owner file, /etc/matryoshka/owner.json, cannot be read; nothing on it was touched';
  return !owner && machineId !== undefined && said.text('machineId') === machineId
    ? 'its owner file /etc/matryoshka/owner.json is missing; nothing on it was changed'
    : undefined;
}

/** Whether a host is as its action wants it. */
function isDone(host: PlannedHost, findings: Findings, complete: boolean): boolean {
  const {
    member: { ip },
    action,
  } = host;
  const { failures, played, untouched, found } = findings;
  if (failures.has(ip) || untold(host, findings) !== undefined) return false;
  if (action === 'join') return played.get(ip)?.has('joined') ?? false;
  if (action === 'leave')
    return (untouched.has(ip) && found.said.has(ip)) || (played.get(ip)?.has('reset') ?? false);
  if (action === 'change') return complete && (played.get(ip)?.has('changed') ?? false);
  return complete;
}

/** The keys of a host among lines of known_hosts, without its name. */
const hostKeysOf = (knownHosts: string, ip: string): string[] =>
  knownHosts.split('\n').flatMap((line) => {
    const [name = '', ...key] = line.trim().split(' ');
    return name === ip || name.startsWith(`[${ip}]:`) ? [key.join(' ')] : [];
  });

/** A report of every host of the run spec, whatever became of the run. */
export function hostReports(runSpec: RunSpec, findings: Findings, complete: boolean): HostReport[] {
  // Whose key and id are not this cluster's to remember.
  const strangers = new Set(machineProblems(runSpec, findings.found).map(({ ip }) => ip));
  return runSpec.hosts.map((host) => {
    const { ip } = host.member;
    const message = findings.failures.get(ip) ?? untold(host, findings);
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
