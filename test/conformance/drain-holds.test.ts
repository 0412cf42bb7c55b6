import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { PODS } from '#api/core.ts';
import type { KubeObject, OwnerReference, Resource } from '#api/meta.ts';
import { createAuthority } from '#lab/apiserver/certificates.ts';
import { ensureBinaries } from '#lab/artifacts/binaries.ts';
import { type Rules, refusal } from '#lab/fault-proxy/faults.ts';
import { startFaultProxy } from '#lab/fault-proxy/start.ts';
import { CONFIG_MAPS, useNamespace } from '#runtime/testing/test-namespace.ts';

/** A drain on a real API server is held only by pods that are neither evicted nor terminating. */
const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const BUDGETS: Resource = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
};
const WEBHOOKS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};
type Loose = KubeObject & Record<string, unknown>;
interface Node extends KubeObject {
  spec?: { unschedulable?: boolean };
  status?: unknown;
}
const ansible = join(import.meta.dirname, '../../ansible');
const text = (path: string) => readFile(join(ansible, path), 'utf8');
const world = useNamespace('drain');
const ADDRESS = '10.250.8.1';
const LONG = '20';
const SHORT = '4';

let owner: OwnerReference;
let binaries: string;
beforeAll(async () => {
  binaries = await ensureBinaries('kubernetes', ['kubectl'], () => {});
  // kubectl requires that a pod has a controller; its kind does not matter.
  const made = await world.client.create<KubeObject>(CONFIG_MAPS, { metadata: world.key('owner') });
  const { uid = '' } = made.metadata;
  owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid, controller: true };
});

interface Given {
  /** Status of the Node's condition Ready. */
  ready?: 'True' | 'Unknown';
}
const nodes: string[] = [];
async function makeNode({ ready = 'True' }: Given = {}): Promise<string> {
  const name = `drain-${randomUUID().slice(0, 8)}`;
  nodes.push(name);
  const made = await world.client.create<Node>(NODES, { metadata: { name } });
  const status = {
    addresses: [{ type: 'InternalIP', address: ADDRESS }],
    conditions: [{ type: 'Ready', status: ready }],
  };
  await world.client.updateStatus<Node>(NODES, { ...made, status });
  return name;
}
afterAll(async () => {
  for (const name of nodes) await world.client.delete(NODES, { namespace: '', name }).catch(() => undefined);
});

interface PodOptions {
  bare?: boolean;
  emptyDir?: boolean;
  /** Termination grace period. Without a kubelet, a pod with one stays terminating. */
  graceSeconds?: number;
  annotations?: Record<string, string>;
  phase?: string;
}
async function makePod(nodeName: string, name: string, options: PodOptions = {}) {
  const { bare, emptyDir, graceSeconds = 0, annotations = {}, phase = 'Running' } = options;
  const pod = await world.client.create<Loose>(PODS, {
    metadata: {
      ...world.key(name),
      labels: { app: name },
      annotations,
      ...(bare ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: graceSeconds,
      containers: [{ name: 'a', image: 'a' }],
      ...(emptyDir ? { volumes: [{ name: 'data', emptyDir: {} }] } : {}),
    },
  });
  const status = { phase, conditions: [{ type: 'Ready', status: 'True' }] };
  await world.client.updateStatus<KubeObject & { status: unknown }>(PODS, { ...pod, status });
}

async function makeBudget(name: string, app: string) {
  const spec = { minAvailable: 1, selector: { matchLabels: { app } } };
  await world.client.create<Loose>(BUDGETS, { metadata: world.key(name), spec });
  const judged = z.object({
    status: z.object({ disruptionsAllowed: z.literal(0), expectedPods: z.literal(1) }),
  });
  await expect
    .poll(async () => judged.safeParse(await world.client.get(BUDGETS, world.key(name))).success, {
      timeout: 20_000,
    })
    .toBe(true);
}

interface DrainOptions {
  seconds?: string;
  how?: 'reached' | 'unreached';
  env?: Record<string, string>;
  rules?: Rules;
}
/** Drains a node as a scale-down does. `rules` are the proxy's faults for the script's requests. */
async function drained(
  node: string,
  { seconds = SHORT, how = 'reached', env = {}, rules }: DrainOptions = {},
) {
  const proxy = rules
    ? await startFaultProxy({ url: world.endpoint.url, ca: (await world.endpoint.tls()).ca })
    : undefined;
  if (proxy && rules) proxy.setRules(rules);
  const to = proxy ? `--server=${proxy.url} --insecure-skip-tls-verify` : '';
  const { exitCode, stdout, stderr } = await execa('bash', ['--norc', '-s'], {
    input: [
      await text('files/prelude.sh'),
      `export KUBECONFIG=${inject('kubeconfigPath')} PATH=${binaries}:$PATH KUBECACHEDIR=$(mktemp -d)`,
      `kubectl() { command kubectl ${to} "$@"; }`,
      await text('roles/drain/files/evict.sh'),
      await text('roles/drain/files/drain.sh'),
    ].join('\n'),
    env: {
      UNDONE: 'no node was removed',
      DENY: await text('roles/drain/files/deny.yaml'),
      DRAIN_SECONDS: seconds,
      FOUND_AWAY_WITHIN: '6',
      DRAIN_FORCE: 'false',
      DRAIN_DELETE_EMPTYDIR_DATA: 'false',
      LEAVING: `${ADDRESS} ${node} ${how}\n`,
      ...env,
    },
    reject: false,
  });
  await proxy?.stop();
  const left = await world.client.find<Node>(NODES, { namespace: '', name: node });
  return {
    ok: exitCode === 0,
    said: stderr,
    reported: stdout,
    /** State of the node: deleted, open for pods, or cordoned. */
    node: left ? (left.spec?.unschedulable ? 'cordoned' : 'open') : 'gone',
    pods: (await world.client.list(PODS, { namespace: world.namespace })).items
      .filter((pod) => z.object({ spec: z.object({ nodeName: z.literal(node) }) }).safeParse(pod).success)
      .map(({ metadata }) => metadata.name),
  };
}

it('removes a node once its pods are evicted, and ignores pods that kubectl ignores', async () => {
  const node = await makeNode();
  await makePod(node, 'plain');
  await makePod(node, 'mirror', { bare: true, annotations: { 'kubernetes.io/config.mirror': 'x' } });
  await makePod(node, 'finished', { bare: true, emptyDir: true, phase: 'Succeeded' });
  expect(await drained(node)).toMatchObject({ ok: true, said: '', node: 'gone' });
});

it('keeps a node whose pod has two disruption budgets, and quotes the error of the API', async () => {
  const node = await makeNode();
  await makePod(node, 'twice');
  await Promise.all([makeBudget('one', 'twice'), makeBudget('two', 'twice')]);
  const result = await drained(node, { seconds: LONG });
  expect(result).toMatchObject({ ok: false, node: 'open', pods: ['twice'] });
  expect(result.said).toContain(
    `${world.namespace}/twice on ${node}: This pod has more than one PodDisruptionBudget`,
  );
});

it('keeps a node whose pod a budget protects, and names the budget', async () => {
  const node = await makeNode();
  await makePod(node, 'kept');
  await makeBudget('keeper', 'kept');
  const result = await drained(node);
  expect(result).toMatchObject({ ok: false, node: 'open', pods: ['kept'] });
  expect(result.said).toMatch(
    new RegExp(
      `${world.namespace}/kept on ${node}: Cannot evict pod as it would violate the pod's disruption budget.*held by disruption budget keeper`,
    ),
  );
});

it('keeps a node if a webhook answers evictions with 429', async () => {
  const authority = await createAuthority();
  const { cert, key } = await authority.issue();
  const reviewSchema = z.object({ request: z.object({ uid: z.string() }) });
  const server = createServer({ cert, key }, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { uid } = reviewSchema.parse(JSON.parse(body)).request;
    const status = { code: 429, reason: 'TooManyRequests', message: 'a backup runs' };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid, allowed: false, status },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const name = `evictions-${randomUUID().slice(0, 8)}.example.com`;
  const node = await makeNode();
  await makePod(node, 'guarded');
  await world.client.create<Loose>(WEBHOOKS, {
    metadata: { name },
    webhooks: [
      {
        name,
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(authority.pem).toString('base64'),
        },
        rules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] },
        ],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': world.namespace } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
      },
    ],
  });
  try {
    const result = await drained(node);
    expect(result).toMatchObject({ ok: false, node: 'open', pods: ['guarded'] });
    expect(result.said).toContain(
      `${world.namespace}/guarded on ${node}: admission webhook "${name}" denied the request: a backup runs`,
    );
  } finally {
    await world.client.delete(WEBHOOKS, { namespace: '', name });
    server.close();
  }
});

/** Refuses the first eviction, and every later request that lists the remaining pods. */
function afterEvictions(): Rules {
  let begun = false;
  return (request) => {
    begun ||= isEviction(request);
    return begun && (isEviction(request) || request.path === '/api/v1/pods') ? refusal(500) : undefined;
  };
}

const isEviction: (request: Parameters<Rules>[0]) => boolean = ({ method, path }) =>
  method === 'POST' && path.endsWith('/eviction');

it.each<[string, Rules]>([
  ['an eviction', (request) => (isEviction(request) && request.nth === 0 ? { kind: 'reset' } : undefined)],
  [
    'a list of pods',
    ({ path, nth }) => (path === '/api/v1/pods' && nth === 0 ? { kind: 'reset' } : undefined),
  ],
  [
    'a write of the list of removed nodes',
    ({ method, path, nth }) =>
      method === 'PATCH' && path.endsWith('/matryoshka-removed-nodes') && nth === 0
        ? { kind: 'reset' }
        : undefined,
  ],
  [
    'a question for the node',
    ({ method, path, nth }) =>
      method === 'GET' && path.includes('/nodes/') && nth === 0 ? { kind: 'reset' } : undefined,
  ],
])('drains a node though the connection of %s fails once', async (_, rules) => {
  const node = await makeNode();
  const name = `once-${node}`;
  await makePod(node, name);
  expect(await drained(node, { seconds: LONG, rules })).toMatchObject({ ok: true, node: 'gone', pods: [] });
});

it.each<[string, Rules]>([
  ['evictions', (request) => (isEviction(request) ? { kind: 'reset' } : undefined)],
  ['lists of pods', ({ path }) => (path === '/api/v1/pods' ? refusal(500) : undefined)],
  ['every eviction, and lists of pods after the first', afterEvictions()],
])('keeps a node while %s fail', async (_, rules) => {
  const node = await makeNode();
  const name = `never-${node}`;
  await makePod(node, name);
  const result = await drained(node, { seconds: LONG, rules });
  expect(result).toMatchObject({ ok: false, node: 'open', pods: [name] });
  expect(result.said).toContain(node);
});

it('refuses bare pods and data in emptyDir, names the fields, and evicts nothing', async () => {
  const node = await makeNode();
  await makePod(node, 'bare', { bare: true });
  await makePod(node, 'scratch', { emptyDir: true });
  await makePod(node, 'ordinary');
  const result = await drained(node);
  expect(result).toMatchObject({ ok: false, node: 'open', pods: ['bare', 'ordinary', 'scratch'] });
  expect(result.said).toMatch(new RegExp(`spec.cluster.drain.force to true.*: ${world.namespace}/bare`));
  expect(result.said).toMatch(
    new RegExp(`spec.cluster.drain.deleteEmptyDirData to true.*: ${world.namespace}/scratch`),
  );
  const env = { DRAIN_FORCE: 'true', DRAIN_DELETE_EMPTYDIR_DATA: 'true' };
  expect(await drained(node, { env })).toMatchObject({ ok: true, node: 'gone' });
});

it('removes a node whose pods only terminate slowly, if its host is reset then', async () => {
  const node = await makeNode();
  await makePod(node, 'slow', { graceSeconds: 600 });
  const result = await drained(node);
  expect(result).toMatchObject({ ok: true, node: 'gone' });
  expect(result.reported).toContain('only pods that are terminating are left');
});

it('keeps a Ready node that SSH does not reach while its pods terminate', async () => {
  const node = await makeNode();
  await makePod(node, 'unseen', { graceSeconds: 600 });
  const result = await drained(node, { how: 'unreached' });
  expect(result).toMatchObject({ ok: false, node: 'open' });
  expect(result.said).toContain(`${world.namespace}/unseen on ${node}: is told to end and still runs`);
});

it('drains a Ready node that SSH does not reach, and respects budgets', async () => {
  const node = await makeNode();
  await makePod(node, 'protected');
  await makeBudget('protector', 'protected');
  expect(await drained(node, { how: 'unreached' })).toMatchObject({
    ok: false,
    node: 'open',
    pods: ['protected'],
  });
  await world.client.delete(BUDGETS, world.key('protector'));
  expect(await drained(node, { how: 'unreached' })).toMatchObject({ ok: true, node: 'gone', pods: [] });
});

it('removes a node that becomes not Ready while it is drained', async () => {
  const node = await makeNode();
  await makePod(node, 'dying', { graceSeconds: 600 });
  const running = drained(node, { how: 'unreached' });
  await expect
    .poll(async () => (await world.client.get(PODS, world.key('dying'))).metadata.deletionTimestamp, {
      timeout: 20_000,
    })
    .toBeDefined();
  const found = await world.client.get<Node>(NODES, { namespace: '', name: node });
  const status = { conditions: [{ type: 'Ready', status: 'Unknown' }] };
  await world.client.patch(
    NODES,
    { namespace: '', name: found.metadata.name ?? '' },
    { status },
    { type: 'merge', subresource: 'status' },
  );
  expect(await running).toMatchObject({ ok: true, node: 'gone' });
});

it('removes a node that is not Ready, with all its pods', async () => {
  const node = await makeNode({ ready: 'Unknown' });
  await makePod(node, 'lost', { bare: true, graceSeconds: 600 });
  expect(await drained(node, { how: 'unreached' })).toMatchObject({ ok: true, node: 'gone' });
});

it('keeps a cordon that a user set', async () => {
  const node = await makeNode();
  await world.client.patch(
    NODES,
    { namespace: '', name: node },
    { spec: { unschedulable: true } },
    { type: 'merge' },
  );
  await makePod(node, 'alone', { bare: true });
  expect(await drained(node)).toMatchObject({ ok: false, node: 'cordoned' });
});
