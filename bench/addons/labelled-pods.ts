import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { localService } from '#addons/local-service/addon.ts';
import { LOCAL_SERVICES, type LocalService } from '#addons/local-service/api.ts';
import { PODS, type Pod } from '#api/core.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { createControllerHost } from '#runtime/process/controller-host.ts';
import { createManager } from '#runtime/process/manager.ts';
import type { Figure } from '../figures.ts';
import { countRequests } from '../fleet/writes.ts';

const POD_COUNT = 5_000;
const NODE_COUNT = 100;
const AT_ONCE = 16;
const WAIT_MS = 300_000;
/** Time without writes after which the controller is at rest. */
const QUIET_MS = 3_000;
const RACK = 'vm/rack';

const podAt = (namespace: string, index: number): Pod & { spec: object } => ({
  metadata: { namespace, name: `pod-${index}`, labels: { app: 'labelled' } },
  spec: {
    ...{ nodeName: `node-${index % NODE_COUNT}`, automountServiceAccountToken: false },
    ...{ containers: [{ name: 'c', image: 'none' }] },
  },
});
const podWrites = async (client: Client): Promise<number> => {
  const counts = await countRequests(client);
  return ['PUT', 'PATCH', 'APPLY'].reduce((sum, verb) => sum + (counts.get(`${verb} pods`) ?? 0), 0);
};

/** Runs the controllers of LocalServices as one process. Returns a function that ends it. */
export function runLocalServices(client: Client, namespace: string): () => Promise<void> {
  const log = createLogger('silent');
  const ending = new AbortController();
  const recorder = { event: () => {}, stop: async () => {} };
  const host = createControllerHost({ client, clock: systemClock, log, namespace, recorder, workers: 4 });
  const controllers = localService.module(host);
  const working = createManager({ caches: host.informers, controllers, log }).run(ending.signal);
  return async () => {
    ending.abort(new Error('done'));
    await working;
  };
}

/**
 * Measures 5,000 existing pods when the first LocalService selects them, then unrelated events, then a restart of the
 * controller.
 */
export async function measureLabelledPods(
  client: Client,
  namespace: string,
): Promise<{ figures: Figure[]; lines: string[] }> {
  const ending = new AbortController();
  const labelled = createInformer<Pod>({
    ...{ client, resource: PODS, log: createLogger('silent') },
    selection: { namespace, labelSelector: RACK },
  });
  const all = Array.from({ length: POD_COUNT }, (_, index) => index);
  await pMap(all, (index) => client.create(PODS, podAt(namespace, index)), { concurrency: AT_ONCE });
  const watching = labelled.run(ending.signal);
  let end = runLocalServices(client, namespace);
  try {
    await labelled.whenSynced();
    const before = await podWrites(client);
    const began = performance.now();
    // The LocalService is placed on no node, so only pods cost time.
    const selector = { app: 'labelled' };
    const spec = { selector, nodeSelector: { nowhere: 'true' }, ports: [{ port: 80 }] };
    const metadata = { namespace, name: 'labelled' };
    await client.create<LocalService>(LOCAL_SERVICES, { metadata, spec });
    for (const until = performance.now() + WAIT_MS; labelled.size < POD_COUNT; await sleep(20))
      if (performance.now() > until) throw new Error(`${labelled.size} pods labelled after ${WAIT_MS} ms`);
    const seconds = (performance.now() - began) / 1_000;
    await sleep(QUIET_MS);
    const after = await podWrites(client);
    const noise = { spec: { ports: [{ port: 81 }] } };
    await client.patch(LOCAL_SERVICES, { namespace, name: 'labelled' }, noise, { type: 'merge' });
    await sleep(QUIET_MS);
    await end();
    end = runLocalServices(client, namespace);
    await sleep(QUIET_MS);
    const more = (await podWrites(client)) - after;
    const perSecond = POD_COUNT / seconds;
    return {
      figures: [
        { name: `writes of ${POD_COUNT} pods that need the label`, ours: after - before, bound: POD_COUNT },
        { name: '… upon other news, and by a process that begins', ours: more, bound: 0 },
      ],
      lines: [
        `${POD_COUNT} pods labelled in ${seconds.toFixed(1)} s, ${perSecond.toFixed(0)} writes a second`,
      ],
    };
  } finally {
    await end();
    ending.abort(new Error('done'));
    await watching;
  }
}
