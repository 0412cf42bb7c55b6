import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { PODS } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { readManifests, resourceOf } from './manifests.ts';
import { objectsOf } from './objects.ts';

/** Tests the manifests against a real API server. */
const manifests = objectsOf(readManifests(join(import.meta.dirname, '../../deploy/manifests')), {
  images: {},
  authority: '',
  site: {},
  servedNamespaces: ['default'],
  snapshotsNode: 'meta',
});
const ofKind = (kind: string) => manifests.filter((object) => object.kind === kind);
const deployment = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    replicas: z.int(),
    template: z.object({ metadata: z.looseObject({}), spec: z.looseObject({}) }),
  }),
});
let client: Client;
beforeAll(async () => {
  client = createClient(await loadEndpoint({ kubeconfig: inject('kubeconfigPath') }), {
    userAgent: 'matryoshka-test',
  });
  for (const namespace of ofKind('Namespace'))
    await client.apply(resourceOf(namespace), namespace, { fieldManager: 'test' });
  for (const account of ofKind('ServiceAccount'))
    await client.apply(resourceOf(account), account, { fieldManager: 'test' });
});
afterAll(() => client.close());

it.each(
  manifests
    .filter(({ kind = '' }) => !['Namespace', 'ServiceAccount'].includes(kind))
    .map((object) => [`${object.kind} ${object.metadata.name}`, object] as const),
)('%s has only fields that the API server knows', async (_title, object) => {
  const { group, version, plural, namespaced } = resourceOf(object);
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const where = namespaced ? `/namespaces/${object.metadata.namespace}` : '';
  const path = `${base}${where}/${plural}?dryRun=All&fieldValidation=Strict`;
  // Another test may have created an object with the unchanged name.
  const tried = { ...object, metadata: { ...object.metadata, name: `${object.metadata.name}-tried` } };
  await expect(client.request('POST', path, tried)).resolves.toBeDefined();
});

it.each(ofKind('Deployment').map((object) => [object.metadata.name ?? '', object] as const))(
  'pods of %s are admitted with critical priority, requests and long probe timeouts',
  async (name, object) => {
    const { spec } = deployment.parse(object);
    const pod: KubeObject & { spec: object } = {
      metadata: { ...spec.template.metadata, namespace: 'matryoshka-system', name },
      spec: spec.template.spec,
    };
    const admitted = await client.create(PODS, pod, { dryRun: true });
    expect(admitted.spec).toMatchObject({
      // Admission resolved the class to this priority, and the kubelet evicts no pod with it.
      priority: 2_000_000_000,
      containers: [
        {
          readinessProbe: { timeoutSeconds: 10 },
          livenessProbe: { timeoutSeconds: 15 },
          resources: { requests: { cpu: expect.any(String), memory: expect.any(String) } },
        },
      ],
    });
  },
);

it.each(['matryoshka-server', 'matryoshka-webhook'])(
  'runs two pods of %s, and a drain evicts at most one at a time',
  (name) => {
    const found = ofKind('Deployment').find(({ metadata }) => metadata.name === name);
    expect(deployment.parse(found).spec.replicas).toBe(2);
    expect(ofKind('PodDisruptionBudget').filter(({ metadata }) => metadata.name === name)).toEqual([
      expect.objectContaining({ spec: { maxUnavailable: 1, selector: { matchLabels: { app: name } } } }),
    ]);
  },
);

it('finds the resource of each kind that add-ons install', async () => {
  const addons = readManifests(join(import.meta.dirname, '../../deploy/addons'));
  const kinds = new Map(addons.map((object) => [`${object.kind}`, resourceOf(object)]));
  expect([...kinds.keys()]).toContain('IngressClass');
  for (const resource of kinds.values())
    await expect(client.list(resource, { limit: 1 })).resolves.toBeDefined();
});
