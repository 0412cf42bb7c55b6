import { describe, expect, it } from 'vitest';
import type { KubeObject } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { createClient } from '../client/client.ts';
import { CONFIG_MAPS, useNamespace } from '../testing/test-namespace.ts';
import { createInformer } from './informer.ts';

const log = createLogger('silent');
describe.each([
  { http2: true, watchList: true },
  { http2: true, watchList: false },
  { http2: false, watchList: true },
  { http2: false, watchList: false },
])('an informer with HTTP/2 $http2 and WatchList $watchList', ({ http2, watchList }) => {
  const test = useNamespace('informer');
  it('loses no event of 200 changes, and ends with the objects of the server', async () => {
    const { client: admin, namespace } = test;
    const client = createClient(test.endpoint, { userAgent: 'test', http2 });
    for (let at = 0; at < 12; at += 1) {
      await admin.create(CONFIG_MAPS, { metadata: { namespace, name: `old-${at}` } });
    }
    const counts = { list: 0, watch: 0, relist: 0, failure: 0, event: 0 };
    const informer = createInformer<KubeObject>({
      client,
      resource: CONFIG_MAPS,
      selection: { namespace },
      pageSize: 5,
      watchList,
      log,
      observe(event) {
        counts[event] += 1;
      },
    });
    const seen = new Map<string, string[]>();
    const note = (what: string) => (object: KubeObject) => {
      const name = object.metadata.name ?? '';
      seen.set(name, [...(seen.get(name) ?? []), what]);
    };
    informer.addHandler({
      add: note('add'),
      update: (_before, after) => note('update')(after),
      delete: note('delete'),
    });
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    await informer.whenSynced();
    expect(informer.list().filter(({ metadata }) => metadata.name?.startsWith('old-'))).toHaveLength(12);
    // A single watch brought the existing objects, so the server is known to support WatchList.
    expect(counts).toMatchObject(watchList ? { list: 1, watch: 1 } : { list: 1 });

    let last = '';
    await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        const key = { namespace, name: `new-${at}` };
        await admin.create(CONFIG_MAPS, { metadata: key });
        for (const round of [1, 2, 3]) {
          await admin.patch(CONFIG_MAPS, key, { data: { round: String(round) } }, { type: 'merge' });
        }
        await admin.delete(CONFIG_MAPS, key);
      }),
    );
    const end = await admin.create<KubeObject>(CONFIG_MAPS, { metadata: { namespace, name: 'end' } });
    last = end.metadata.resourceVersion ?? '';
    await new Promise<void>((resolve) => informer.onReached(last, resolve));
    for (let at = 0; at < 40; at += 1) {
      expect(seen.get(`new-${at}`)).toEqual(['add', 'update', 'update', 'update', 'delete']);
    }
    const { items } = await admin.list(CONFIG_MAPS, { namespace });
    const versions = (objects: KubeObject[]) =>
      objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
    expect(versions(informer.list()).sort()).toEqual(versions(items).sort());
    expect(counts).toMatchObject({ relist: 0, failure: 0, watch: 1 });
    stop.abort();
    await running;
    await client.close();
  });
});
