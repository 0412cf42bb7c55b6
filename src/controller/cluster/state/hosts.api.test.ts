import { beforeAll, expect, it } from 'vitest';
import type { ClusterHost } from '#api/cluster-host.ts';
import { HOSTS, type HostRecord, hostRecordName } from '#api/host-record.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { hostsIn } from './hosts.ts';

const test = useNamespace('hosts');
beforeAll(() => installCrds(test.client));

const host: ClusterHost = { ip: '10.88.7.1', name: 'a', duties: ['worker'] };

it('leaves a host to the cluster that holds it, although the cache does not show the record yet', async () => {
  const { client, namespace } = test;
  const hosts = hostsIn(client, namespace);
  await hosts.hold('first', 'x/first', [host]);
  await expect(hosts.hold('second', 'x/second', [host])).rejects.toMatchObject({ reason: 'HostConflict' });
  const record = await client.get<HostRecord>(HOSTS, test.key(hostRecordName(host.ip)));
  expect(record.spec.clusterId).toBe('first');
});
