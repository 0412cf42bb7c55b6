import type { DriftSeen, Expected, NodeSeen } from './seen.ts';

/** Returns the report of each node about its host, and of each external etcd host, by node name. */
export const reportsOf = (
  nodes: readonly NodeSeen[],
  hosts: readonly Expected[],
): ReadonlyMap<string, DriftSeen | undefined> =>
  new Map([
    ...nodes.map(({ name, drift }): [string, DriftSeen | undefined] => [name, drift]),
    ...passedOn(nodes, hosts),
  ]);

/** Returns the latest report of each external etcd host, from any control plane. */
function passedOn(nodes: readonly NodeSeen[], hosts: readonly Expected[]): Map<string, DriftSeen> {
  const joined = hosts.filter((host) => host.joined);
  const reporters = new Set(joined.filter((host) => host.controlPlane).map(({ name }) => name));
  const latest = new Map<string, DriftSeen>();
  for (const { name, driftOfEtcd } of nodes) {
    if (!driftOfEtcd || !reporters.has(name)) continue;
    for (const { name: of } of joined.filter(({ hasNode }) => !hasNode)) {
      const drift = driftOfEtcd.get(of);
      if (drift && drift.atMs > (latest.get(of)?.atMs ?? 0)) latest.set(of, drift);
    }
  }
  return latest;
}
