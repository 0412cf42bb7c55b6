import type { HostResult } from '#protocol/event.ts';
import type { HostReport, Report } from '#protocol/report.ts';
import type { Action, PlannedHost } from '#protocol/run-spec.ts';

/** The result that a host must have at the end, by its action; a host that stays has none. */
export const AIMS: Readonly<Record<Action, HostResult | undefined>> = {
  join: 'joined',
  change: 'changed',
  leave: 'reset',
  stay: undefined,
};

/** Most hosts that a sentence lists. */
const NAMED = 20;

function textOf(action: Action, host: HostReport | undefined): string | undefined {
  const aim = AIMS[action];
  if (aim === undefined) return undefined;
  if (host?.ok) return aim;
  const did = host?.did ?? [];
  return `${did.length === 0 ? 'nothing done' : did.join(', ')}, not ${aim}`;
}

/** Returns what was and was not done on each host of a plan; hosts with the same result are listed together. */
export function hostResultsText(hosts: readonly PlannedHost[], report: Report): string {
  const said = new Map(report.hosts.map((host) => [host.ip, host]));
  const groups = new Map<string, string[]>();
  for (const { member: host, action } of hosts) {
    const text = textOf(action, said.get(host.ip));
    if (text !== undefined) groups.set(text, [...(groups.get(text) ?? []), host.ip]);
  }
  return [...groups]
    .map(([text, ips]) => {
      const more = ips.length > NAMED ? ` and ${ips.length - NAMED} more` : '';
      return `${ips.slice(0, NAMED).join(', ')}${more}: ${text}`;
    })
    .join('; ');
}
