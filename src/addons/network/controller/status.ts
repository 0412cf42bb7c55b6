import { findCondition, type Stated, withCondition } from '#api/conditions.ts';
import type { Network, NetworkStatus } from '../api.ts';
import type { HostOutcome, Notice } from './apply.ts';
import type { Hindrance } from './claims.ts';

/** Maximum number of troubles in a message; the rest is a count. */
const NAMED = 5;

function readiness(
  hindrance: Hindrance | undefined,
  outcomes: readonly HostOutcome[],
  count: number,
  bridge: string,
): Stated {
  const no = (reason: string, message: string): Stated => ({
    ...{ type: 'Ready', status: 'False', reason, message },
  });
  const troubles = outcomes.flatMap(({ trouble }) => trouble ?? []);
  const [first] = troubles;
  if (hindrance) return no(hindrance.reason, hindrance.message);
  if (first) {
    const messages = [...new Set(troubles.map(({ message }) => message))];
    const more = messages.length > NAMED ? [`and ${messages.length - NAMED} more`] : [];
    return no(first.reason, [...messages.slice(0, NAMED), ...more].join('; '));
  }
  const message =
    count === 0
      ? 'spec.hosts names no host, so there is no bridge to make'
      : `bridge ${bridge} is on ${count} ${count === 1 ? 'host' : 'hosts'}`;
  return { type: 'Ready', status: 'True', reason: 'Synced', message };
}

/** Returns the status after a round, with Events for its changes besides those of the hosts. */
export function outcomeOf(
  network: Network,
  round: { hindrance: Hindrance | undefined; outcomes: readonly HostOutcome[]; bridge: string },
  now: Date,
): { status: NetworkStatus; notices: readonly Notice[] } {
  const { hindrance, outcomes, bridge } = round;
  const { generation } = network.metadata;
  const hosts = outcomes.flatMap(({ record }) => record ?? []);
  const ready = readiness(hindrance, outcomes, hosts.length, bridge);
  const before = findCondition(network.status?.conditions, 'Ready');
  const isNews =
    before?.reason !== ready.reason || (ready.status === 'False' && before.message !== ready.message);
  const type = ready.status === 'True' ? ('Normal' as const) : ('Warning' as const);
  return {
    status: {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(hosts.some(({ address }) => address !== undefined) ? { bridge } : {}),
      hosts,
      conditions: withCondition(network.status?.conditions ?? [], ready, now, generation),
    },
    notices: [
      ...outcomes.flatMap(({ notices }) => notices),
      ...(isNews ? [{ type, reason: ready.reason, message: ready.message }] : []),
    ],
  };
}
