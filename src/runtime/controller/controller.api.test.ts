import { expect, it } from 'vitest';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '../cache/informer.ts';
import { createElection } from '../leader/leader.ts';
import { createManager } from '../process/manager.ts';
import { CONFIG_MAPS, type ConfigMap, SECRETS, useNamespace } from '../testing/test-namespace.ts';
import { createController } from './controller.ts';

const log = createLogger('silent');
const test = useNamespace('controller');

it('keeps an owned object for each object, reads its writes, and stops in order', async () => {
  const { client, namespace } = test;
  const maps = createInformer<ConfigMap>({
    client,
    resource: CONFIG_MAPS,
    selection: { namespace, labelSelector: 'sample=yes' },
    log,
  });
  const secrets = createInformer<KubeObject>({ client, resource: SECRETS, selection: { namespace }, log });
  const staleReads: string[] = [];
  const written = new Map<string, string>();
  const healed = Promise.withResolvers<void>();
  const isDone = Promise.withResolvers<void>();
  let secretsMade = 0;

  async function reconcile(
    key: ObjectKey,
    { signal, wrote }: { signal: AbortSignal; wrote(object: KubeObject): void },
  ) {
    const map = maps.get(key);
    if (!map) return;
    const last = written.get(key.name);
    if (last && Number(map.metadata.resourceVersion) < Number(last)) staleReads.push(key.name);
    if (!secrets.get(key)) {
      secretsMade += 1;
      const { name = '', uid = '' } = map.metadata;
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true };
      wrote(await client.create(SECRETS, { metadata: { ...key, ownerReferences: [owner] } }, { signal }));
      if (secretsMade > 20) healed.resolve();
    }
    if (map.data?.['seen'] !== 'yes') {
      const next = await client.update<ConfigMap>(CONFIG_MAPS, { ...map, data: { seen: 'yes' } }, { signal });
      written.set(key.name, next.metadata.resourceVersion ?? '');
      wrote(next);
    }
    const all = maps.list();
    if (all.length === 20 && all.every(({ data }) => data?.['seen'] === 'yes') && secrets.size === 20)
      isDone.resolve();
  }

  const controller = createController({
    name: 'sample',
    for: maps,
    owns: [secrets],
    workers: 4,
    reconcile,
    log,
  });
  const election = createElection({ client, lease: { namespace, name: 'sample' }, identity: 'me', log });
  const manager = createManager({ caches: [maps, secrets], controllers: [controller], election, log });
  const stop = new AbortController();
  const running = manager.run(stop.signal);

  for (let at = 0; at < 20; at += 1) {
    await client.create(CONFIG_MAPS, { metadata: { namespace, name: `m${at}`, labels: { sample: 'yes' } } });
  }
  await isDone.promise;
  expect(secretsMade).toBe(20);
  expect(election.isLeading()).toBe(true);
  await client.delete(SECRETS, { namespace, name: 'm3' });
  await healed.promise;
  expect(staleReads).toEqual([]);

  stop.abort();
  await running;
  const lease = await client.get<KubeObject & { spec?: { holderIdentity?: string } }>(
    { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases', namespaced: true },
    { namespace, name: 'sample' },
  );
  expect(lease.spec?.holderIdentity ?? '').toBe('');
});
