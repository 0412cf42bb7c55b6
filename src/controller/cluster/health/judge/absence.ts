import type { Stated } from '#api/conditions.ts';
import { PRESENCE } from '../../decide/rest/remediation.ts';
import type { Verdict } from '../../decide/snapshot.ts';
import { sickMembers } from './etcd.ts';
import type { Expected, Seen } from './seen.ts';
import { named, stated } from './wording.ts';

/**
 * Decides which control plane is away: its API server is silent, and the cluster reports its node as not Ready. A host that
 * only the controller cannot reach is not away. Every other control plane must be ready and every other etcd member healthy.
 * Several absences at once may be a cut network, and a quorum may be at stake.
 */
export function judgePresence(seen: Seen, hosts: readonly Expected[]): Stated {
  const { blind, servers, nodes, etcdPods, changing } = seen;
  const unknown = stated(PRESENCE, 'Unknown', 'NotJudged', 'no probe shows whether a control plane is away');
  if (blind || changing || !nodes || !servers.some(({ state }) => state === 'ready')) return unknown;
  const nodeOf = (address: string) => {
    const host = hosts.find(({ ip }) => ip === address);
    return nodes.find(({ name }) => name === host?.name);
  };
  const unwell = servers.filter(({ state }) => state !== 'ready');
  const away = unwell.find(({ ip, state }) => state === 'silent' && nodeOf(ip)?.ready === false);
  if (!away) return stated(PRESENCE, 'True', 'AllPresent', 'no control plane is away');
  const members = hosts.filter(({ controlPlane, etcd, joined }) => controlPlane && etcd && joined);
  if (members.length > 0 && !etcdPods) return unknown;
  const sick = sickMembers(seen, members, etcdPods ?? []);
  // A control plane that is held or leaving cannot be counted upon.
  const unsettled = hosts.filter(({ controlPlane, joined }) => controlPlane && !joined);
  const all = [...new Set([...unwell, ...sick, ...unsettled].map(({ ip }) => ip))];
  return all.length > 1
    ? stated(PRESENCE, 'False', 'NotAlone', `several control planes are away or not well: ${named(all)}`)
    : stated(PRESENCE, 'False', 'OneAway', away.ip);
}

/** The absence of one control plane, by consecutive probes; monotonic milliseconds. */
export interface Absence {
  ip: string;
  sinceMs: number;
  atMs: number;
}

/** Returns the absence after a probe at `atMs`. Starts over if another host is away, or no probe ran for `maxGapMs`. */
export function absenceAfter(
  before: Absence | undefined,
  { conditions }: Verdict,
  { atMs, maxGapMs }: { atMs: number; maxGapMs: number },
): Absence | undefined {
  const found = conditions.find(({ type }) => type === PRESENCE);
  if (found?.reason !== 'OneAway') return undefined;
  const ip = found.message;
  const goesOn = before?.ip === ip && atMs - before.atMs <= maxGapMs;
  return { ip, sinceMs: goesOn ? before.sinceMs : atMs, atMs };
}
