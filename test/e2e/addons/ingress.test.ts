import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { nodeNameOf } from '#api/host.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { openBrowser } from '#lab/browser/browser.ts';
import { EDITOR_PORT, editorImage } from '#lab/editor/image.ts';
import { kubectl } from '#lab/kubectl.ts';
import { installAddon, loadImage } from '#lab/meta/addon.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from '../by-number.ts';
import { enterLane } from '../lanes.ts';

/**
 * docs/ingress.md on a cluster that the operator created: pages and a WebSocket over TLS, while pods and replicas change.
 */
const { kubeconfigPath } = inject('addons');
const NAMESPACE = 'shop';
const HOST = 'shop.example.com';
const EDITOR = 'editor.example.com';
const EDITOR_IMAGE = 'docker.io/matryoshka/editor:e2e';
const EXAMPLE = join(import.meta.dirname, '../../../deploy/addons/examples/ingress.yaml');
const PROXY = ['-n', 'matryoshka-ingress'];
const DEPLOYMENT = 'deployment/matryoshka-ingress-server';

let meta: Meta;
let port = '';
/** Base64 of the SHA-256 of the certificate's public key, for a browser that does not trust the test's CA. */
let publicKey = '';
beforeAll(async () => {
  meta = await enterLane();
  await inside(['create', 'namespace', NAMESPACE]);
});
afterAll(async () => {
  // No need to wait for its pods, which ignore SIGTERM.
  await inside(['delete', 'namespace', NAMESPACE, '--wait=false']);
  await meta.close();
});

const { host, sh } = byNumber(() => meta);
const inside = (args: readonly string[], input?: string) =>
  kubectl(kubeconfigPath, ['-n', NAMESPACE, ...args], {
    timeoutMs: 150_000,
    ...(input === undefined ? {} : { input }),
  });
const rollout = () => inside([...PROXY, 'rollout', 'status', DEPLOYMENT, '--timeout=120s']);

/** Pages with the pod's name and a WebSocket handshake. They replace the example's pods, because hosts have no registry. */
const shop = (image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'shop' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'shop' } },
    template: {
      metadata: { labels: { app: 'shop' } },
      spec: {
        tolerations: [{ operator: 'Exists' }],
        containers: [
          {
            name: 'web',
            image,
            imagePullPolicy: 'IfNotPresent',
            command: ['/usr/local/bin/node', '-e'],
            args: [
              `require('http').createServer((q, a) => a.end(process.env.HOSTNAME + ' ' + q.headers['x-forwarded-proto']))
                .on('upgrade', (q, s) => { s.on('error', () => {});
                  s.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\\r\\n\\r\\nthrough'); })
                .listen(8080)`,
            ],
            readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
});

const editorPod = (nodeName: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'editor', labels: { app: 'editor' } },
  spec: {
    nodeName,
    containers: [
      {
        name: 'editor',
        image: EDITOR_IMAGE,
        imagePullPolicy: 'IfNotPresent',
        env: [{ name: 'HOME', value: '/workspace' }],
        readinessProbe: { tcpSocket: { port: EDITOR_PORT }, periodSeconds: 1 },
        volumeMounts: [{ name: 'workspace', mountPath: '/workspace' }],
      },
    ],
    securityContext: { runAsUser: 1000, fsGroup: 1000 },
    volumes: [{ name: 'workspace', emptyDir: {} }],
  },
});
const editorService = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'editor' },
  spec: { selector: { app: 'editor' }, ports: [{ name: 'http', port: 80, targetPort: EDITOR_PORT }] },
};
const editorIngress = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'editor' },
  spec: {
    ingressClassName: 'matryoshka',
    tls: [{ hosts: [EDITOR], secretName: 'shop-tls' }],
    rules: [
      {
        host: EDITOR,
        http: {
          paths: [
            {
              path: '/',
              pathType: 'Prefix',
              backend: { service: { name: 'editor', port: { name: 'http' } } },
            },
          ],
        },
      },
    ],
  },
};

/** Script in the page: a shell in the pod, which calculates a sum over a WebSocket. */
const SHELL = `(async () => {
  const token = document.cookie.match(/_xsrf=([^;]+)/)?.[1] ?? '';
  const made = await fetch('/api/terminals', { method: 'POST', headers: { 'X-XSRFToken': token } });
  const { name } = await made.json();
  const socket = new WebSocket('wss://' + location.host + '/terminals/websocket/' + name);
  return new Promise((resolve, reject) => {
    let said = '';
    setTimeout(() => reject(new Error('no answer: ' + said)), 30_000);
    socket.onerror = () => reject(new Error('the WebSocket failed'));
    socket.onmessage = ({ data }) => {
      const [kind, text] = JSON.parse(data);
      if (kind === 'setup') socket.send(JSON.stringify(['stdin', 'echo sum-$((20 + 22))\\n']));
      said += kind === 'stdout' ? text : '';
      if (said.includes('sum-42')) resolve(said);
    };
  });
})()`;

/**
 * Sends requests until it is killed. The timeout is long, because a late response is not a lost one. Two clients keep their
 * connection for as long as the proxy allows; one opens a connection for each request.
 */
const asking = () => {
  const url = `https://${HOST}:${port}/`;
  const curl = `curl -s -m 20 -o /dev/null -w "%{stderr}%{http_code}\\n%{onerror}%{errormsg}\\n" --cacert /tmp/ingress-ca.crt --resolve ${HOST}:${port}:${host(0).ip}`;
  return `rm -f /tmp/asked-* /tmp/asking
    for how in http1.1 http2; do
      setsid ${curl} --$how --rate 10/s '${url}?[1-3000]' > /dev/null 2> /tmp/asked-$how < /dev/null & echo $! >> /tmp/asking
    done
    setsid sh -c 'for i in $(seq 1500); do ${curl} ${url}; sleep 0.2; done' > /dev/null 2> /tmp/asked-new < /dev/null & echo $! >> /tmp/asking`;
};

/** Returns curl's output from a host, over TLS with the name in the certificate; '' on failure. */
const curl = (from: number, more = '') =>
  sh(
    from,
    `curl -sS -m 5 --cacert /tmp/ingress-ca.crt --resolve ${HOST}:${port}:${host(0).ip} ${more} https://${HOST}:${port}/ 2>/dev/null || true`,
  );

describe('Ingress on a cluster', () => {
  it('serves the example over TLS, with the certificate of its Secret', async () => {
    const { image } = await installAddon('ingress', kubeconfigPath, [host(0), host(1)]);
    await rollout();
    const authority = await createAuthority();
    const { cert, key } = await createServerCertificate(authority, [HOST, EDITOR], []);
    const spki = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' });
    publicKey = createHash('sha256').update(spki).digest('base64');
    const secret = { metadata: { name: 'shop-tls' }, type: 'kubernetes.io/tls' };
    const stringData = { 'tls.crt': cert, 'tls.key': key };
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', ...secret, stringData });
    await inside(['apply', '-f', '-'], text);
    const object = z.looseObject({ kind: z.string() });
    const example = parseAllDocuments(await readFile(EXAMPLE, 'utf8')).map((one) => object.parse(one.toJS()));
    const items = [...example.filter(({ kind }) => kind !== 'Deployment'), shop(image)];
    await inside(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    const ofHttps = 'jsonpath={.spec.ports[?(@.name=="https")].nodePort}';
    port = await inside([...PROXY, 'get', 'service', 'matryoshka-ingress-server', '-o', ofHttps]);
    for (const index of [0, 1]) await sh(index, `cat > /tmp/ingress-ca.crt <<'END'\n${authority.cert}\nEND`);
    await seen('pages from both pods, asked from both hosts', async () => {
      const pages = new Set<string>();
      for (const from of [0, 1]) for (let times = 0; times < 4; times += 1) pages.add(await curl(from));
      return pages.size === 2 && [...pages].every((page) => /^shop-\S+ https$/.test(page.trim()));
    });
    expect(await curl(1, "-o /dev/null -w '%{http_version}'")).toBe('2');
  });

  it('passes a WebSocket', async () => {
    const key = "-H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='";
    const asked = `--http1.1 -i -N -H 'Connection: Upgrade' -H 'Upgrade: websocket' ${key}`;
    expect(await curl(1, asked)).toMatch(/^HTTP\/1.1 101 [\s\S]*through$/);
  });

  it('serves an editor to a browser, over TLS and WebSockets', async () => {
    await loadImage(await editorImage(() => {}), EDITOR_IMAGE, [host(1)]);
    const items = [editorPod(nodeNameOf({ ip: host(1).ip })), editorService, editorIngress];
    await inside(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await inside(['wait', '--for=condition=Ready', 'pod/editor', '--timeout=120s']);
    const { context, close } = await openBrowser(() => {}, {
      names: { [EDITOR]: host(0).ip },
      trusts: [publicKey],
    });
    try {
      const page = await context.newPage();
      await seen('the editor, in the browser', async () => {
        const answer = await page.goto(`https://${EDITOR}:${port}/lab`, { timeout: 60_000 });
        return answer?.status() === 200;
      });
      await page.locator('#jp-top-panel').waitFor({ timeout: 60_000 });
      expect(await page.evaluate(SHELL)).toContain('sum-42');
    } finally {
      await close();
    }
  });

  it('shows the addresses of its Service in status', async () => {
    const spec = { externalIPs: [host(0).ip] };
    const service = [
      'patch',
      'service',
      'matryoshka-ingress-server',
      '--type=merge',
      '-p',
      JSON.stringify({ spec }),
    ];
    await inside([...PROXY, ...service]);
    const address = 'jsonpath={.status.loadBalancer.ingress[0].ip}';
    await seen(
      'the address to be told',
      async () => (await inside(['get', 'ingress', 'shop', '-o', address])) === host(0).ip,
    );
  });

  it('loses no request while its replicas are replaced, on old connections and on new ones', async () => {
    await sh(1, asking());
    await inside([...PROXY, 'rollout', 'restart', DEPLOYMENT]);
    await rollout();
    // Printed to standard error, which curl does not buffer.
    const said = await sh(
      1,
      'kill -- $(sed s/^/-/ /tmp/asking); cd /tmp; for how in asked-*; do echo $how $(sort $how | uniq -c); done; rm asked-* asking',
    );
    for (const how of ['http1.1', 'http2', 'new'])
      expect(said).toMatch(new RegExp(`^asked-${how} \\d{2,} 200$`, 'm'));
  });
});
