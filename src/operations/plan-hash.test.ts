import { describe, expect, it } from 'vitest';
import { clusterHostsOf } from '#api/cluster-host.ts';
import type { HostEntry } from '#api/host.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { ClusterSpec, Spec } from '#api/kubernetes-cluster.ts';
import { planFor } from './plan-for.ts';
import { changeOfPlan, outlineOf, planHash } from './plan-hash.ts';
import { resolveSpec } from './resolve.ts';
import { scaleUp } from './scale-up.ts';

const offer = { versions: ['v1.34.4'] };
const hostOf = (last: number) => ({ ip: `10.0.0.${last}` });
const specOf = (nodeList: HostEntry[], more: Partial<ClusterSpec> = {}): Spec =>
  resolveSpec({ cluster: { masterList: [hostOf(1)], nodeList, ...more } }, offer, undefined);
const present = specOf([hostOf(2)]);
const records = (status: HostRecord['status'] = {}): HostRecord[] =>
  [...clusterHostsOf(present.cluster).values()].map((host) => ({
    metadata: { name: host.ip },
    spec: { clusterId: 'x', cluster: 'a/demo', ...host },
    status: { state: 'Joined', touched: true, ...status },
  }));
const planned = (spec: Spec, hosts = records(), remains?: ReadonlyMap<string, string>) =>
  planFor(scaleUp, { spec, applied: present, hosts, remains, offer });
const wanted = specOf([hostOf(2), hostOf(3), hostOf(4)]);
const hashOf = (spec: Spec, hosts = records(), after = 1) =>
  planHash('scale-up', planned(spec, hosts), after);
const agreed = hashOf(wanted);

describe('the plan hash', () => {
  it.each<[string, string]>([
    ['the order of hosts', hashOf(specOf([hostOf(4), hostOf(3), hostOf(2)]))],
    ['the order of records', hashOf(wanted, records().reverse())],
    ['the way to a host', hashOf(specOf([hostOf(2), hostOf(3), { ...hostOf(4), port: 2222, user: 'root' }]))],
    ['credentials', hashOf(specOf([hostOf(2), hostOf(3), hostOf(4)], { credentialsSecret: 'keys' }))],
    ['the order of keys', hashOf(specOf([hostOf(2), hostOf(3), { name: 'host-10-0-0-4', ...hostOf(4) }]))],
  ])('does not depend on %s', (_what, hash) => {
    expect(hash).toBe(agreed);
  });

  it.each<[string, string]>([
    ['another host', hashOf(specOf([hostOf(2), hostOf(3), hostOf(5)]))],
    ['another name', hashOf(specOf([hostOf(2), hostOf(3), { ...hostOf(4), name: 'b' }]))],
    ['other labels', hashOf(specOf([hostOf(2), hostOf(3), { ...hostOf(4), labels: { a: 'b' } }]))],
    ['remains that are wiped', hashOf(specOf([hostOf(2), hostOf(3), { ...hostOf(4), reclaim: 'old' }]))],
    [
      'remains that its former cluster has left',
      planHash('scale-up', planned(wanted, records(), new Map([['10.0.0.4', 'old']])), 1),
    ],
    ['another machine', hashOf(wanted, records({ machineId: 'other' }))],
    ['another version', hashOf(specOf([hostOf(2), hostOf(3), hostOf(4)], { kubeVersion: 'v1.35.0' }))],
    ['an operation since', hashOf(wanted, records(), 2)],
    ['another operation', planHash('replace', planned(wanted), 1)],
  ])('depends on %s', (_what, hash) => {
    expect(hash).not.toBe(agreed);
  });
});

it.each<[string, Spec, number, string]>([
  [
    'hosts',
    specOf([hostOf(2), hostOf(3), hostOf(5)]),
    1,
    'host 10.0.0.4: no change, was join; host 10.0.0.5: join, was no change',
  ],
  [
    'steps',
    specOf([hostOf(2), hostOf(3), hostOf(4)], { masterList: [1, 6, 7].map(hostOf) }),
    1,
    'host 10.0.0.6: join, was no change; host 10.0.0.7: join, was no change; host 10.0.0.1: change, was no change; ' +
      'host 10.0.0.2: change, was no change; step "Check etcd" came; step "Point hosts at the API servers" came',
  ],
  ['operations', wanted, 3, 'operation 3 was accepted since'],
  ['nothing that is named', wanted, 1, 'other facts of its hosts or of the spec'],
])('describes a change of %s', (_what, spec, after, values) => {
  const said = changeOfPlan(outlineOf(planned(wanted), 1), outlineOf(planned(spec), after)).split('; ');
  expect(said.sort()).toEqual(values.split('; ').sort());
});
