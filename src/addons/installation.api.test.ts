import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { PODS } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { NAMESPACES, SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { addons } from './index.ts';
import { installationOf } from './installation.ts';

/** Tests the installed objects of add-ons against a real API server. */
const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().exactOptional() }),
});
const podTemplate = z.object({
  spec: z.object({
    template: z.object({ spec: z.looseObject({ serviceAccountName: z.string() }) }),
  }),
});
const test = useNamespace('installation');
const objects = addons
  .flatMap((addon) => installationOf(addon))
  .map((object) => objectSchema.parse(object))
  .filter(({ kind }) => kind !== 'Namespace' && kind !== 'CustomResourceDefinition')
  .map((object) => [`${object.kind} ${object.metadata.name}`, object] as const);

beforeAll(async () => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const key = { namespace: '', name: test.namespace };
  await test.client.patch(NAMESPACES, key, { metadata: { labels } }, { type: 'merge' });
  for (const [, { kind, metadata }] of objects)
    if (kind === 'ServiceAccount')
      await test.client.create(SERVICE_ACCOUNTS, { metadata: test.key(metadata.name) });
});

it.each(objects)('%s passes strict field validation', async (_title, object) => {
  const { apiVersion, kind, metadata } = object;
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const where = metadata.namespace === undefined ? '' : `/namespaces/${test.namespace}`;
  const query = { dryRun: 'All', fieldValidation: 'Strict' };
  const tried: KubeObject = {
    ...object,
    metadata: {
      ...metadata,
      name: `${metadata.name}-tried`,
      ...(metadata.namespace === undefined ? {} : { namespace: test.namespace }),
    },
  };
  const plural = `${kind.toLowerCase().replace(/y$/, 'ie').replace(/s$/, 'se')}s`;
  const path = `${base}${where}/${plural}`;
  await expect(test.client.request('POST', path, tried, { query })).resolves.toBeDefined();
});

it.each(objects.filter(([, { kind }]) => kind === 'Deployment'))(
  'pods of %s are restricted, with a read-only root file system',
  async (_title, object) => {
    const { spec } = podTemplate.parse(object).spec.template;
    const pod: KubeObject & { spec: object } = { metadata: test.key('tried'), spec };
    const admitted = await test.client.create(PODS, pod, { dryRun: true });
    expect(admitted).toMatchObject({
      spec: { containers: [{ securityContext: { readOnlyRootFilesystem: true } }] },
    });
  },
);
