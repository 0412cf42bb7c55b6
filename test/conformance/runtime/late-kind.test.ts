import { randomUUID } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import type { KubeObject, Resource } from '#api/meta.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '#lab/apiserver/kinds.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { createClient } from '#runtime/client/client.ts';
import { cachesSynced } from '#runtime/process/health.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { eventually, recordingLog, within } from './world.ts';

const test = useNamespace('late-kind');
const group = `g${randomUUID().slice(0, 8)}.example.com`;
const WIDGETS: Resource = { group, version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true };
const crd = {
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

afterAll(() => test.client.delete(CUSTOM_RESOURCE_DEFINITIONS, { namespace: '', name: `widgets.${group}` }));

it('an informer waits for a kind that is not installed, logs that once, and starts by itself', async () => {
  const { log, lines } = recordingLog();
  const client = createClient(test.endpoint, { userAgent: 'test' });
  const failed = Promise.withResolvers<void>();
  let failures = 0;
  const informer = createInformer<KubeObject>({
    client,
    resource: WIDGETS,
    log,
    random: () => 0,
    observe(event) {
      if (event === 'failure') failures += 1;
      if (failures === 2) failed.resolve();
    },
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await within(failed.promise, 10_000, 'a second try');
  const why = `the server has no widgets.${group} (v1) yet: waiting for its CustomResourceDefinition`;
  expect(lines.map(({ fields }) => fields['error'])).toEqual([why]);
  expect(cachesSynced([informer])()).toContain(why);

  await test.client.create(CUSTOM_RESOURCE_DEFINITIONS, crd);
  await within(informer.whenSynced(), 20_000, 'the kind is watched');
  expect(cachesSynced([informer])()).toBeUndefined();
  // While the API server starts to serve the CRD, it may first refuse for another reason, which is logged too.
  const errors = lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields['error']);
  expect(new Set(errors).size).toBe(errors.length);
  expect(lines.at(-1)?.message).toBe('widgets: watching again');
  await test.client.create(WIDGETS, { metadata: test.key('first') });
  await eventually(informer, 'the first of its kind', () => informer.size === 1);
  stop.abort(new Error('over'));
  await running;
  await client.close();
});
