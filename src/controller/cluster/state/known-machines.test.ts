import { expect, it } from 'vitest';
import type { HostRecord, HostRecordStatus } from '#api/host-record.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { type Action, META_NODE, machineSeen, type PlannedHost } from '#protocol/run-spec.ts';
import type { Client } from '#runtime/client/client.ts';
import { knownMachines, metaNodeLister, ownClusters } from './known-machines.ts';

const planned = (ip: string, action: Action): PlannedHost => ({
  member: { ip, name: ip, duties: ['worker'] },
  action,
});
const record = (ip: string, cluster: string, status: HostRecordStatus): HostRecord => ({
  metadata: { name: ip },
  spec: { clusterId: `id-${cluster}`, cluster, ip, name: ip, duties: ['worker'] },
  status,
});
const machines = (hosts: PlannedHost[], ...records: HostRecord[]) =>
  knownMachines({ hosts, cluster: { id: 'id-a/demo', namespace: 'a', name: 'demo' } }, records, [
    { metadata: { name: 'meta-1' }, status: { nodeInfo: { machineID: 'meta' } } },
    { metadata: { name: 'meta-2' }, status: {} },
  ]);

it('names machines of this cluster by address, and of the namespace by cluster', () => {
  const joined = { state: 'Joined', machineId: 'm1' } as const;
  const found = machines(
    [planned('10.0.0.2', 'stay'), planned('10.0.0.22', 'join')],
    record('10.0.0.2', 'a/demo', joined),
    record('10.0.0.3', 'a/other', { ...joined, machineId: 'm2' }),
    record('10.0.0.4', 'b/secret', { machineId: 'm3' }),
  );
  expect(found).toEqual({
    [machineSeen('m1')]: '10.0.0.2',
    [machineSeen('m2')]: 'a/other',
    [machineSeen('m3')]: '',
    [machineSeen('meta')]: META_NODE,
  });
});

it('omits joining hosts at their own address, Unclean hosts, and hosts without an id', () => {
  const found = machines(
    [planned('10.0.0.22', 'join')],
    record('10.0.0.22', 'a/demo', { state: 'Held', machineId: 'm1' }),
    record('10.0.0.3', 'a/other', { state: 'Unclean', machineId: 'm2' }),
    record('10.0.0.4', 'a/other', { state: 'Joined' }),
  );
  expect(found).toEqual({ [machineSeen('meta')]: META_NODE });
});

it('is empty if no host joins', () => {
  const joined = record('10.0.0.3', 'a/other', { state: 'Joined', machineId: 'm2' });
  expect(machines([planned('10.0.0.2', 'leave')], joined)).toEqual({});
});

it('lists ids of clusters in the namespace, but not in one with a similar name', () => {
  const joined = { state: 'Joined' } as const;
  const records = [
    record('10.0.0.2', 'a/demo', joined),
    record('10.0.0.3', 'a/demo', joined),
    record('10.0.0.4', 'a/old', { state: 'Unclean' }),
    record('10.0.0.5', 'ab/secret', joined),
    record('10.0.0.6', 'b/a', joined),
  ];
  expect(ownClusters({ cluster: { namespace: 'a', name: 'demo' } }, records)).toEqual([
    'id-a/demo',
    'id-a/old',
  ]);
});

it('lists the nodes of the meta cluster at most twice a minute', async () => {
  const clock = createManualClock();
  let lists = 0;
  const metaNodes = metaNodeLister(clock);
  const client: Pick<Client, 'list'> = {
    list: async () => {
      lists += 1;
      return { apiVersion: 'v1', kind: 'NodeList', metadata: {}, items: [] };
    },
  };
  for (let run = 0; run < 10; run += 1) await metaNodes(client);
  await clock.advance(31_000);
  await metaNodes(client);
  expect(lists).toBe(2);
});
