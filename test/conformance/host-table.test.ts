import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { clusterHostsOf } from '#api/cluster-host.ts';
import { hostsIn } from '#controller/cluster/state/hosts.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { createTransport } from '#runtime/wire/transport.ts';

/** The table that `kubectl get ecsh` prints. */
const test = useNamespace('hosts');
const tableSchema = z.object({
  columnDefinitions: z.array(z.object({ name: z.string() })),
  rows: z.array(z.object({ cells: z.array(z.unknown()) })),
});

beforeAll(() => installCrds(test.client));

it('kubectl prints the duties and the state of each host', async () => {
  const hosts = clusterHostsOf({
    masterList: [{ ip: '10.249.0.1' }],
    nodeList: [{ ip: '10.249.0.1' }, { ip: '10.249.0.2' }],
  });
  await hostsIn(test.client, test.namespace).hold('id', 'n/name', [...hosts.values()]);
  const transport = createTransport(test.endpoint);
  const { text } = await transport.send({
    method: 'GET',
    path: `/apis/ecs.yun.com/v1/namespaces/${test.namespace}/hosts`,
    headers: { ...(await test.endpoint.headers()), accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    signal: AbortSignal.timeout(10_000),
  });
  await transport.close();
  const { columnDefinitions, rows } = tableSchema.parse(JSON.parse(text));
  const shown = (name: string) => {
    const at = columnDefinitions.findIndex((column) => column.name === name);
    return rows.map(({ cells }) => cells[at]);
  };
  expect(shown('Name')).toEqual(['10.249.0.1', '10.249.0.2']);
  expect(shown('Duties')).toEqual(['control-plane,etcd,worker', 'worker']);
  expect(shown('State')).toEqual(['Held', 'Held']);
});
