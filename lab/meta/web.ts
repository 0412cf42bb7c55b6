import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { Client } from '#runtime/client/client.ts';

const resource = (group: string, kind: string, plural: string): Resource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced: true,
});
/** The kind of the web server of `askService`, which is called `web`. */
export const DEPLOYMENTS = resource('apps', 'Deployment', 'deployments');
export const WEB = { namespace: 'default', name: 'web' };
const NODE_PORT = 30080;
const ANSWER_MS = 90_000;

/**
 * Runs a small web server in a cluster, from an image that every host has. Returns the Service's response on a node's port,
 * which shows that pods, pod network, DNS and Services work together.
 */
export async function askService(client: Client, nodeIp: string): Promise<string> {
  const labels = { app: 'web' };
  const metadata = WEB;
  const deployment: KubeObject & { spec: unknown } = {
    metadata,
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: 'web',
              // CoreDNS serves its health over HTTP, and its image is on every host already.
              image: 'registry.k8s.io/coredns/coredns:v1.12.1',
              imagePullPolicy: 'IfNotPresent',
              args: ['-conf', '/etc/coredns/Corefile'],
              volumeMounts: [{ name: 'conf', mountPath: '/etc/coredns' }],
              readinessProbe: { httpGet: { path: '/health', port: 8080 }, periodSeconds: 1 },
            },
          ],
          volumes: [{ name: 'conf', configMap: { name: 'web' } }],
        },
      },
    },
  };
  const configMap: KubeObject & { data: unknown } = {
    metadata,
    data: { Corefile: '.:5300 {\n  health :8080\n  ready\n}\n' },
  };
  const service: KubeObject & { spec: unknown } = {
    metadata,
    spec: {
      type: 'NodePort',
      selector: labels,
      ports: [{ port: 80, targetPort: 8080, nodePort: NODE_PORT }],
    },
  };
  const options = { fieldManager: 'matryoshka-lab', force: true };
  await client.apply(resource('', 'ConfigMap', 'configmaps'), configMap, options);
  await client.apply(DEPLOYMENTS, deployment, options);
  await client.apply(resource('', 'Service', 'services'), service, options);
  const url = `http://${nodeIp}:${NODE_PORT}/health`;
  const until = performance.now() + ANSWER_MS;
  for (;;) {
    const { stdout, exitCode } = await execa('curl', ['-sS', '-m', '2', '-w', ' (HTTP %{http_code})', url], {
      reject: false,
    });
    if (exitCode === 0) return `GET ${url} → ${stdout}`;
    if (performance.now() > until) throw new Error(`${url} did not answer within ${ANSWER_MS / 1000} s`);
    await sleep(500);
  }
}
