import { isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import { pointsTo } from '../kubeconfig.ts';
import type { Effect } from '../outcome.ts';
import type { Snapshot } from '../snapshot.ts';

/** Longer than a restart of a control plane, and shorter than users wait. */
const AWAY_MS = 3 * 60_000;

/**
 * Points a kubeconfig at another control plane if its own has been away for minutes. `away` means that every other API
 * server is ready. A kubeconfig that names the site's load balancer stays as it is.
 */
export function duePointing({
  health,
  kubeconfig,
  hosts,
}: Snapshot): Extract<Effect, { kind: 'point-kubeconfig' }> | undefined {
  const away = health.kind === 'seen' ? health.away : undefined;
  if (!away || away.forMs < AWAY_MS || !pointsTo(kubeconfig, [away.ip])) return undefined;
  const other = hosts.find(
    (record) => stateOf(record) === 'Joined' && isMaster(record.spec) && record.spec.ip !== away.ip,
  );
  return other && { kind: 'point-kubeconfig', to: other.spec.ip };
}
