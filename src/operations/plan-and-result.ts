import type { Report } from '#protocol/report.ts';
import type { PlannedHost, Step } from '#protocol/run-spec.ts';
import { AIMS } from './host-results.ts';

/** What was planned and what was done, side by side. */

/** Beyond this many hosts a record has their numbers: it is for people, and a ConfigMap takes 1 MiB. */
const MAX_HOSTS = 200;
const MAX_LINES = 200;

interface Planned {
  hosts: readonly PlannedHost[];
  steps: readonly Step[];
}

function countsOf(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/** A plan as a record has it: hosts with their actions, steps with their hosts. */
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

/** What a run reported, as a record has it: what it did on each host, steps that did something on one. */
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
  // What is taken out of the cluster is reset; what stays or changes neither joins nor leaves.
  const others = Object.values(AIMS).filter((one) => one !== undefined && one !== aim);
  // A host that joins may carry remains, which are reset first.
  const allowed = action === 'join' ? ['reset'] : [];
  return did
    .filter((one) => others.includes(one) && !allowed.includes(one))
    .map((one) => `${ip}: was ${one}, which was not planned`);
}

/** A step may pass over a host that needs nothing any more: one that left before, or that is not ours. */
const neededNothing = (result: Report['hosts'][number] | undefined): boolean =>
  result?.ok === true && result.did.length === 0;

/**
 * What was planned and not done, and what was done and not planned, a sentence each; empty if the run did what was planned.
 * Hosts without a result were not worked on. Steps are compared where the run tells them.
 */
export function differenceOf({ hosts, steps }: Planned, result: Pick<Report, 'hosts' | 'steps'>): string[] {
  const said = new Map(result.hosts.map((host) => [host.ip, host]));
  const planned = new Set(hosts.map(({ member }) => member.ip));
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
