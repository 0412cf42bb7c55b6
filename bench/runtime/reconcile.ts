import { CONFIG_MAPS } from '#api/core.ts';
import { createLogger } from '#base/log.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '#lab/apiserver/kinds.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { SAMPLES, type Sample, sampleCrd } from './sample.ts';
import { type Side, start } from './sides.ts';

const TIMED = 1_000;
/** Additional objects for the memory, so that the memory of one object is more than chance. */
const KEPT = 4_000;
const AT_ONCE = 16;
const DONE_MS = 5 * 60_000;

export interface Reconciled {
  /** Seconds from the first create to the last status. */
  seconds: number;
  /** MiB for each 1,000 additional objects. */
  growth: number;
}

/** Runs one side with 1,000 objects on a separate API server, then with 4,000 more for the memory. */
export async function reconciled(side: Side, say: Say): Promise<Reconciled> {
  await using server = await startApiServer({ say });
  const client = createClient(await loadEndpoint({ kubeconfig: server.kubeconfigPath }), {
    userAgent: 'matryoshka-bench',
  });
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, sampleCrd);
  await served(client);
  const watch = await watched(client);
  const running = start(side, 'reconcile', server.kubeconfigPath);
  try {
    await running.line('ready');
    const began = performance.now();
    await createMany(client, 0, TIMED);
    await watch.done(TIMED);
    const seconds = (performance.now() - began) / 1000;
    const before = await running.resident();
    await announced(say, `${side.name}: ${KEPT} objects more`, async () => {
      await createMany(client, TIMED, KEPT);
      await watch.done(TIMED + KEPT);
    });
    const growth = ((await running.resident()) - before) / (KEPT / 1_000);
    const made = await client.list(CONFIG_MAPS, { namespace: 'default', limit: 1 });
    if (made.items.length === 0) throw new Error(`${side.name} made no ConfigMaps`);
    return { seconds, growth };
  } finally {
    await running.stop();
    await watch.stop();
    await client.close();
  }
}

async function served(client: Client): Promise<void> {
  const end = performance.now() + 30_000;
  for (;;) {
    const found = await client.list(SAMPLES, { limit: 1 }).catch(() => undefined);
    if (found) return;
    if (performance.now() > end) throw new Error('the CRD is not served within 30 s');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function createMany(client: Client, first: number, count: number): Promise<void> {
  let next = first;
  const worker = async () => {
    while (next < first + count) {
      const name = `sample-${next++}`;
      const sample: Sample = { metadata: { namespace: 'default', name }, spec: { text: `text of ${name}` } };
      await client.create(SAMPLES, sample);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Counts Samples whose status has their current generation as observed. */
async function watched(client: Client) {
  const stop = new AbortController();
  const seen = new Set<string>();
  let check = () => {};
  const informer = createInformer<Sample>({ client, log: createLogger('error'), resource: SAMPLES });
  const note = ({ metadata, status }: Sample) => {
    if (status?.observed !== metadata.generation) return;
    seen.add(metadata.name ?? '');
    check();
  };
  informer.addHandler({ add: note, update: (_before, after) => note(after) });
  const ended = informer.run(stop.signal);
  await informer.whenSynced();
  return {
    done: (count: number) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`${seen.size} of ${count} within ${DONE_MS / 1000} s`)),
          DONE_MS,
        );
        check = () => {
          if (seen.size < count) return;
          clearTimeout(timer);
          resolve();
        };
        check();
      }),
    stop: async () => {
      stop.abort(new Error('done'));
      await ended;
    },
  };
}
