import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { kubectl } from '#lab/kubectl.ts';
import { kubeconfigOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { seen } from '#lab/meta/faults.ts';
import { type Meta, metaUp } from '#lab/meta/meta.ts';
import { installNeighbour } from '#lab/meta/neighbour.ts';
import { byNumber } from './by-number.ts';

/** docs/ingress.md on a cluster that we made: pages and a WebSocket over TLS, while pods and replicas come and go. */
const NAME = 'ingress';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 480_000;
const HOST = 'shop.example.com';
const EXAMPLE = join(import.meta.dirname, '../../deploy/neighbours/examples/ingress.yaml');
const PROXY = ['-n', 'matryoshka-ingress'];
const DEPLOYMENT = 'deployment/matryoshka-ingress-server';

let meta: Meta;
let made = '';
let port = '';
beforeAll(async () => {
  meta = await metaUp(inject('labHosts'), () => {});
});
afterAll(() => meta.close());

const { entries, host, sh } = byNumber(() => meta);
const inside = (args: readonly string[], input?: string) =>
  kubectl(made, args, { timeoutMs: 150_000, ...(input === undefined ? {} : { input }) });
const rollout = () => inside([...PROXY, 'rollout', 'status', DEPLOYMENT, '--timeout=120s']);

/** Pages with the pod's name, and a WebSocket handshake, in the place of the example's pods: hosts have no registry. */
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
                  s.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\nthrough'); })
                .listen(8080)`,
            ],
            readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
});

/** What curl prints, asked from a host over TLS with the name that the certificate is for; '' upon failure. */
const curl = (from: number, more = '') =>
  sh(
    from,
    `curl -sS -m 5 --cacert /tmp/ingress-ca.crt --resolve ${HOST}:${port}:${host(0).ip} ${more} https://${HOST}:${port}/ 2>/dev/null || true`,
  );

describe('Ingress on a cluster', () => {
  it('serves the example over TLS, by the certificate of its Secret', async () => {
    const body = { masterList: entries(0), nodeList: entries(1), privateSSHKey: meta.privateKey };
    expect(await meta.rest.raw('POST', PATH, body)).toMatchObject({ status: 200 });
    await untilDone(meta, NAME, OPERATION_MS);
    const folder = await mkdtemp(join(tmpdir(), 'e2e-'));
    made = join(folder, 'kubeconfig');
    await writeFile(made, await kubeconfigOf(meta, NAME), { mode: 0o600 });
    const { image } = await installNeighbour('ingress', made, [host(0), host(1)]);
    await rollout();
    const authority = await createAuthority();
    const { cert, key } = await createServerCertificate(authority, [HOST], []);
    for (const [name, text] of [
      ['tls.crt', cert],
      ['tls.key', key],
    ] as const)
      await writeFile(join(folder, name), text, { mode: 0o600 });
    await inside([
      'create',
      'secret',
      'tls',
      'shop-tls',
      `--cert=${folder}/tls.crt`,
      `--key=${folder}/tls.key`,
    ]);
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
    const asked = "--http1.1 -i -N -H 'Connection: Upgrade' -H 'Upgrade: websocket'";
    expect(await curl(1, asked)).toMatch(/^HTTP\/1.1 101 [\s\S]*through$/);
  });

  it('has the addresses of its Service as status', async () => {
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

  it('loses no request while its replicas are replaced', async () => {
    const loop = `for i in $(seq 100); do curl -s -m 5 -o /dev/null -w '%{http_code}\\n' --cacert /tmp/ingress-ca.crt --resolve ${HOST}:${port}:${host(0).ip} https://${HOST}:${port}/; sleep 0.2; done | sort | uniq -c`;
    const asking = sh(1, loop);
    await inside([...PROXY, 'rollout', 'restart', DEPLOYMENT]);
    await rollout();
    expect((await asking).trim()).toMatch(/^100 200$/);
  });

  it('goes with the cluster', async () => {
    expect((await meta.rest.raw('DELETE', PATH)).status).toBe(200);
    await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
  });
});
