import { stringify } from 'yaml';
import { PODS, type Pod } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { type FaultProxy, startFaultProxy } from '#lab/fault-proxy/start.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { startServer } from './ground.ts';

const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

interface Node extends KubeObject {
  status?: { conditions: { type: string; status: string }[] };
}

/** A made cluster without kubelets: its API server at 127.0.0.1, behind a proxy, and nodes that a test writes. */
export interface MadeCluster {
  proxy: FaultProxy;
  port: number;
  /** As the operator keeps it; `more` goes into its cluster. */
  kubeconfig(more?: Record<string, unknown>): string;
  setNode(name: string, ready: boolean): Promise<void>;
  setEtcd(node: string, ready: boolean): Promise<void>;
  /** Times that a look began, so far. */
  looks(): number;
  stop(): Promise<void>;
}

export async function startMadeCluster(): Promise<MadeCluster> {
  const server = await startServer();
  const proxy = await startFaultProxy(server);
  const endpoint = await loadEndpoint({ kubeconfig: server.kubeconfigPath });
  const client: Client = createClient(endpoint, { userAgent: 'test' });
  const conditions = (ready: boolean) => [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  return {
    proxy,
    port: Number(new URL(proxy.url).port),
    kubeconfig: (more = {}) =>
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'a',
        contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
        clusters: [
          {
            name: 'a',
            cluster: {
              server: proxy.url,
              'certificate-authority-data': Buffer.from(proxy.ca).toString('base64'),
              ...more,
            },
          },
        ],
        users: [{ name: 'a', user: { token: server.token } }],
      }),
    async setNode(name, ready) {
      const node =
        (await client.find<Node>(NODES, { namespace: '', name })) ??
        (await client.create<Node>(NODES, { metadata: { name } }));
      await client.updateStatus<Node>(NODES, { ...node, status: { conditions: conditions(ready) } });
    },
    async setEtcd(node, ready) {
      const key = { namespace: 'kube-system', name: `etcd-${node}` };
      const made: Pod & { spec: { containers: unknown } } = {
        metadata: { ...key, labels: { component: 'etcd', tier: 'control-plane' } },
        spec: { nodeName: node, containers: [{ name: 'etcd', image: 'etcd' }] },
      };
      const pod = (await client.find<Pod>(PODS, key)) ?? (await client.create<Pod>(PODS, made));
      await client.updateStatus<Pod>(PODS, { ...pod, status: { conditions: conditions(ready) } });
    },
    looks: () => proxy.count(({ path }) => path === '/readyz'),
    async stop() {
      await client.close();
      await proxy.stop();
      await server.stop();
    },
  };
}
