import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { stringify } from 'yaml';
import { PODS, type Pod } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { type FaultProxy, startFaultProxy } from '#lab/fault-proxy/start.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { startServer } from './ground.ts';

const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const LEASES: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};

interface Node extends KubeObject {
  status?: { conditions: { type: string; status: string }[] };
}

/** A created cluster without kubelets: its API server at 127.0.0.1, behind a proxy, and nodes that a test writes. */
export interface MadeCluster {
  proxy: FaultProxy;
  port: number;
  /** Returns the kubeconfig as the operator stores it; `more` is merged into its cluster entry. */
  kubeconfig(more?: Record<string, unknown>): string;
  setNode(name: string, ready: boolean): Promise<void>;
  setEtcd(node: string, ready: boolean): Promise<void>;
  /** Starts or stops serving the API at another of the loopback addresses that it was started with. */
  serveAt(ip: string, serves: boolean): Promise<void>;
  /** Writes the report of a host's drift agent as the annotation of its node. */
  setDrift(node: string, drift: string): Promise<void>;
  /** Returns the number of probes that have started. */
  checks(): number;
  stop(): Promise<void>;
}

export async function startMadeCluster(ips: readonly string[] = ['127.0.0.1']): Promise<MadeCluster> {
  const server = await startServer();
  const proxy = await startFaultProxy({ url: server.url, ca: server.ca, ips });
  const port = Number(new URL(proxy.url).port);
  const relays = new Map<string, Server>();
  const endpoint = await loadEndpoint({ kubeconfig: server.kubeconfigPath });
  const client: Client = createClient(endpoint, { userAgent: 'test' });
  const conditions = (ready: boolean) => [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  return {
    proxy,
    port,
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
    async serveAt(ip, serves) {
      const known = relays.get(ip);
      if (serves === (known !== undefined)) return;
      if (known) {
        relays.delete(ip);
        // Each probe opens its own connections and closes them at its end.
        await new Promise((resolve) => known.close(resolve));
        return;
      }
      const relay = createServer((socket) => {
        const onwards = connect(port, '127.0.0.1');
        for (const one of [socket, onwards]) one.on('error', () => {});
        socket.pipe(onwards).pipe(socket);
      });
      relay.listen(port, ip);
      await once(relay, 'listening');
      relays.set(ip, relay);
    },
    async setDrift(node, drift) {
      const key = { namespace: 'kube-node-lease', name: node };
      const annotations = { 'ecs.yun.com/drift': drift };
      const lease = {
        metadata: { ...key, annotations },
        spec: { holderIdentity: node, renewTime: new Date().toISOString().replace('Z', '000Z') },
      };
      if (await client.find(LEASES, key)) await client.patch(LEASES, key, lease, { type: 'merge' });
      else await client.create(LEASES, lease);
    },
    checks: () => proxy.count(({ path }) => path === '/readyz'),
    async stop() {
      for (const relay of relays.values()) relay.close();
      await client.close();
      await proxy.stop();
      await server.stop();
    },
  };
}
