import { execa } from 'execa';
import type { LabHost } from '../hosts/places.ts';
import { kubectl } from '../kubectl.ts';
import { applyAddon } from '../meta/addon.ts';
import { seen } from '../meta/faults.ts';
import type { Meta } from '../meta/meta.ts';

const HOST = 'web.demo.example';
const PROXY = ['-n', 'matryoshka-ingress'];
const SERVER = 'matryoshka-ingress-server';
const ROLLOUT_S = 120;

/** Ingress of the Service that the demonstration has requested before. */
const ingress = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'web' },
  spec: {
    ingressClassName: 'matryoshka',
    rules: [
      {
        host: HOST,
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } },
          ],
        },
      },
    ],
  },
};

/**
 * Installs our Ingress add-on into a cluster. Returns a page through it on the worker, also over TLS. The nodes pull the
 * operator's image from the artifact server, which acts as a registry.
 */
export async function pageThroughIngress(meta: Meta, kubeconfig: string, worker: LabHost): Promise<string> {
  const ofImage = 'jsonpath={.spec.template.spec.containers[0].image}';
  const operator = ['-n', 'matryoshka-system', 'get', 'deployment', 'matryoshka-controller', '-o', ofImage];
  const image = (await kubectl(meta.kubeconfigPath, operator)).trim();
  await applyAddon('ingress', kubeconfig, `docker.io/${image.replace(/^docker\.io\//, '')}`);
  const rollout = [...PROXY, 'rollout', 'status', `deployment/${SERVER}`, `--timeout=${ROLLOUT_S}s`];
  await kubectl(kubeconfig, rollout, { timeoutMs: (ROLLOUT_S + 10) * 1_000 });
  await kubectl(kubeconfig, ['apply', '-f', '-'], { input: JSON.stringify(ingress) });
  const pages: string[] = [];
  for (const scheme of ['http', 'https']) {
    const ofScheme = `jsonpath={.spec.ports[?(@.name=="${scheme}")].nodePort}`;
    const port = (await kubectl(kubeconfig, [...PROXY, 'get', 'service', SERVER, '-o', ofScheme])).trim();
    const url = `${scheme}://${HOST}:${port}/health`;
    const how = [
      '-sSk',
      '-m',
      '2',
      '--resolve',
      `${HOST}:${port}:${worker.ip}`,
      '-w',
      ' (HTTP %{http_code})',
    ];
    await seen(`${url} to answer`, async () => {
      const { stdout } = await execa('curl', [...how, url], { reject: false });
      if (!stdout.endsWith('(HTTP 200)')) return false;
      pages.push(`GET ${url} → ${stdout}`);
      return true;
    });
  }
  return pages.join('\n');
}
