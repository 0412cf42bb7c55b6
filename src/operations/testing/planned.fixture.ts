import { clusterHostsOf } from '#api/cluster-host.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import type { Operation } from '../operation.ts';
import { planFor } from '../plan-for.ts';
import { resolveSpec } from '../resolve.ts';

/** Clusters by the last parts of their hosts' addresses, and the plan of an operation between two of them. */

export const ip = (last: number) => `10.0.0.${last}`;
const entries = (hosts: readonly number[]) => hosts.map((last) => ({ ip: ip(last) }));

/** Returns the resolved spec of a created cluster. */
export const spec = (masters: number[], nodes: number[], more: Partial<Spec['cluster']> = {}): Spec =>
  resolveSpec(
    { cluster: { masterList: entries(masters), nodeList: entries(nodes), ...more } },
    { versions: ['v1.34.4'] },
    undefined,
  );
/** Returns the spec of a cluster with external etcd. */
export const externalEtcd = (masters: number[], etcd: number[], nodes: number[] = []): Spec =>
  spec(masters, nodes, { etcdList: entries(etcd) });

export const records = (of: Spec): HostRecord[] =>
  [...clusterHostsOf(of.cluster).values()].map((host) => ({
    metadata: { name: host.ip },
    spec: { clusterId: 'c1', cluster: 'a/demo', ...host },
    status: { state: 'Joined', touched: true },
  }));

export function plan(operation: Operation, from: Spec, to: Spec) {
  const situation = { spec: to, applied: from, hosts: records(from), offer: { versions: ['v1.34.4'] } };
  const made = planFor(operation, situation);
  return {
    does: Object.fromEntries(made.hosts.map(({ member: host, action }) => [host.ip, action])),
    steps: made.steps.map(({ name }) => name),
    /** Returns the last parts of the addresses on which a step works. */
    at: (step: string) =>
      (made.steps.find(({ name }) => name === step)?.hosts ?? []).map((at) => Number(at.split('.').at(-1))),
    refused: made.refusals.map(({ field, reason }) => `${field}: ${reason}`),
  };
}
