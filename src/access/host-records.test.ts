import { expect, it } from 'vitest';
import type { HostRecord } from '#api/host-record.ts';
import { annotations } from '#api/names.ts';
import { clientOver } from '#runtime/client/client.ts';
import { hostRecordsOf, recordsAt } from './host-records.ts';

const record = (ip: string, cluster: string): HostRecord => ({
  metadata: { name: ip },
  spec: { clusterId: 'id', cluster, ip, name: `n-${ip}`, duties: ['worker'] },
});
const ips = (count: number): string[] => Array.from({ length: count }, (_, at) => `10.0.0.${at + 1}`);
const others = Array.from({ length: 1_000 }, (_, at) => record(`10.1.${at >> 8}.${at & 255}`, 'c/demo'));
const all = [...ips(20).map((ip) => record(ip, 'a/demo')), record('10.0.0.99', 'b/demo'), ...others];
/** Numbers of requests for one record and for all records. */
const asked = { one: 0, all: 0 };
const client = clientOver({
  async call({ path, query = {} }) {
    const found = all.find(({ metadata: { name } }) => path.endsWith(`/${name}`));
    asked[found ? 'one' : 'all'] += 1;
    if (found) return found;
    const first = Number(query['continue'] ?? 0);
    const end = first + Number(query['limit'] ?? all.length);
    const more = end < all.length ? { continue: String(end) } : {};
    return { items: all.slice(first, end), metadata: { resourceVersion: '1', ...more } };
  },
  stream: () => Promise.reject(new Error('not here')),
  close: async () => {},
});

it('hides the hosts of a cluster from a copy that has its cluster-id', async () => {
  const of = (namespace: string) => ({
    metadata: { namespace, name: 'demo', annotations: { [annotations.clusterId]: 'id' } },
    spec: { cluster: {} },
  });
  expect(await hostRecordsOf(client, 'system', of('a'))).toHaveLength(20);
  expect((await hostRecordsOf(client, 'system', of('b'))).map(({ spec }) => spec.ip)).toEqual(['10.0.0.99']);
});

it.each([
  [3, { one: 3, all: 0 }],
  [15, { one: 0, all: 3 }],
])('reads %i records by address with the fewest requests', async (count, expected) => {
  Object.assign(asked, { one: 0, all: 0 });
  expect(await recordsAt(client, 'system', new Set(ips(count)))).toHaveLength(count);
  expect(asked).toEqual(expected);
});
