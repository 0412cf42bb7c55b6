import { expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { probe } from '#controller/cluster/health/probe.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import { createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';

/** Messages of an etcd that has used up its quota, from etcd itself and from an API server. */
const QUOTA = 8 * 1024 ** 2;
const CONFIG_MAPS = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
const NODES = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const LEASES = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};

it('a probe reports a full etcd, which still answers, once no kubelet can renew its Lease', async () => {
  await using server = await startApiServer({ etcdFlags: [`--quota-backend-bytes=${QUOTA}`] });
  const client = createClient(await loadEndpoint({ kubeconfig: server.kubeconfigPath }), {
    userAgent: 'test',
  });
  const { token, ca, url } = server;
  const check = () =>
    probe({
      access: { ca, token },
      ips: ['127.0.0.1'],
      port: Number(new URL(url).port),
      deadlineMs: 20_000,
      clock: systemClock,
      signal: new AbortController().signal,
      withSize: false,
    });
  try {
    const node = await client.create(NODES, { metadata: { name: 'a' } });
    const conditions = [{ type: 'Ready', status: 'True' }];
    await client.updateStatus(NODES, { ...node, ...{ status: { conditions } } });
    const renewTime = '2026-01-01T00:00:00.000000Z';
    await client.create(LEASES, {
      metadata: { namespace: 'kube-node-lease', name: 'a' },
      ...{ spec: { renewTime } },
    });
    const well = await check();
    expect(well.nodes).toMatchObject([{ name: 'a', ready: false, silent: true }]);
    expect(well.writesRefused).toBeUndefined();
    const data = { much: 'a'.repeat(900 * 1024) };
    const fill = async () => {
      for (let at = 0; at < (2 * QUOTA) / data.much.length; at += 1)
        await client.create(CONFIG_MAPS, {
          metadata: { namespace: 'default', name: `a-${at}` },
          ...{ data },
        });
    };
    await expect(fill()).rejects.toThrow('database space exceeded');
    expect(await check()).toMatchObject({ servers: [{ state: 'ready' }], writesRefused: 'NoSpace' });
  } finally {
    await client.close();
  }
});
