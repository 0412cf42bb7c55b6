import type { Report } from '#protocol/report.ts';
import type { PlannedHost, Step } from '#protocol/run-spec.ts';
import { AIMS } from './host-results.ts';

/** Compares what was planned with what was done. */

/** With more hosts the record has only counts: it is for users, and a ConfigMap holds at most 1 MiB. */
const MAX_HOSTS = 200;
const MAX_LINES = 200;

interface Planned {
  hosts: readonly PlannedHost[];
  steps: readonly Step[];
}

function countsOf(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Returns a plan for the record: hosts with their actions, steps with their hosts. */
export const planOnRecord = ({ hosts, steps }: Planned): unknown =>
  hosts.length <= MAX_HOSTS
    ? {
        hosts: hosts.map(({ member: { ip }, action }) => ({ ip, action })),
        steps: steps.map(({ name, hosts: at }) => ({ name, hosts: at })),
      }
    : {
        hosts: countsOf(hosts.map(({ action }) => action)),
        steps: steps.map(({ name, hosts: at }) => ({ name, hosts: at.length })),
      };

/** Returns a report for the record: the results of each host, and the steps that changed a host. */
export const resultOnRecord = ({ hosts, steps }: Report): unknown => ({
  hosts:
    hosts.length <= MAX_HOSTS
      ? hosts.map(({ ip, ok, did }) => ({ ip, ok, did }))
      : countsOf(hosts.flatMap(({ did }) => did)),
  ...(steps ? { steps } : {}),
});

function differenceOfHost(
  { member: { ip }, action }: PlannedHost,
  result: Report['hosts'][number] | undefined,
): string[] {
  const aim = AIMS[action];
  const did = result?.did ?? [];
  if (aim !== undefined && !result?.ok) return [`${ip}: planned to be ${aim}, and was not`];
  // A host that is removed is reset; a host that stays or changes neither joins nor leaves.
  const others = Object.values(AIMS).filter((one) => one !== undefined && one !== aim);
  // A joining host may carry remains, which are reset first.
  const allowed = action === 'join' ? ['reset'] : [];
  return did
    .filter((one) => others.includes(one) && !allowed.includes(one))
    .map((one) => `${ip}: was ${one}, which was not planned`);
}

/** Whether the steps had nothing to do on the host: it left before, or another cluster owns it. */
const neededNothing = (result: Report['hosts'][number] | undefined): boolean =>
  result?.ok === true && result.did.length === 0;

/**
 * Returns the differences of plan and result, one sentence each; empty if the run did what was planned. Hosts without a
 * result were not worked on. Steps are compared only if the run reports them.
 */
export function differenceOf({ hosts, steps }: Planned, result: Pick<Report, 'hosts' | 'steps'>): string[] {
  const said = new Map(result.hosts.map((host) => [host.ip, host]));
  const planned = new Set(hosts.map(({ member: host }) => host.ip));
  const lines = hosts.flatMap((host) => differenceOfHost(host, said.get(host.member.ip)));
  for (const { ip, did } of result.hosts)
    if (!planned.has(ip) && did.length > 0)
      lines.push(`${ip}: was ${did.join(', ')}, and is not in the plan`);
  const ran = new Set(result.steps);
  for (const { name, hosts: at } of result.steps ? steps : [])
    if (!ran.has(name) && !at.every((ip) => neededNothing(said.get(ip))))
      lines.push(`step "${name}" was planned, and did not run`);
  for (const name of ran)
    if (!steps.some((step) => step.name === name)) lines.push(`step "${name}" ran, and was not planned`);
  return lines.length <= MAX_LINES
    ? lines
    : [...lines.slice(0, MAX_LINES), `and ${lines.length - MAX_LINES} more`];
}
