import { createInterface } from 'node:readline';
import { CONFIG_MAPS, type ConfigMap, PODS, type Pod } from '#api/core.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { createController } from '#runtime/controller/controller.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { createManager } from '#runtime/process/manager.ts';
import { FINALIZER, SAMPLES, type Sample } from './sample.ts';

/** Our side of `make bench`, line for line like bench/peer-go. */
const log = createLogger('error');
const endpoint = await loadEndpoint({ kubeconfig: process.env['KUBECONFIG'] });
const client = createClient(endpoint, { userAgent: 'matryoshka-bench' });
const say = (line: string) => process.stdout.write(`${line}\n`);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort(new Error('SIGTERM')));

/** Runs a garbage collection at each line of standard input, so that retained memory can be measured. */
function answerCollections(): void {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', () => {
    // Returns unused memory to the system, like debug.FreeOSMemory of the peer.
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    say('collected');
  });
  lines.on('close', () => process.exit());
}

async function reconcileSamples(): Promise<void> {
  const samples = createInformer<Sample>({ client, log, resource: SAMPLES });
  const configs = createInformer<ConfigMap>({ client, log, resource: CONFIG_MAPS });
  const controller = createController({
    name: 'sample',
    for: samples,
    owns: [configs],
    workers: 4,
    log,
    async reconcile(key, context) {
      const writer = scopedClient(client, context);
      let sample = samples.get(key);
      if (!sample) return;
      const { finalizers = [], uid = '', name = '' } = sample.metadata;
      if (!finalizers.includes(FINALIZER)) {
        const metadata = { ...sample.metadata, finalizers: [...finalizers, FINALIZER] };
        sample = await writer.update(SAMPLES, { ...sample, metadata });
      }
      const found = configs.get(key);
      const { text } = sample.spec;
      if (!found) {
        const owner = { apiVersion: 'bench.example.com/v1', kind: 'Sample', name, uid, controller: true };
        await writer.create(CONFIG_MAPS, { metadata: { ...key, ownerReferences: [owner] }, data: { text } });
      } else if (found.data?.['text'] !== text) {
        await writer.update(CONFIG_MAPS, { ...found, data: { text } });
      }
      const { generation = 0 } = sample.metadata;
      if (sample.status?.observed !== generation) {
        await writer.updateStatus(SAMPLES, { ...sample, status: { observed: generation } });
      }
    },
  });
  const caches = [samples, configs];
  const ended = createManager({ caches, controllers: [controller], log }).run(stop.signal);
  await Promise.all(caches.map((cache) => cache.whenSynced(stop.signal)));
  say('ready');
  answerCollections();
  await ended;
}

/** Lists in pages, as docs/runtime.md advises for many objects; `watchList`: as an informer does by default. */
async function listPods(watchList: boolean): Promise<void> {
  const began = performance.now();
  let last = began;
  let worked = threadMs();
  let longest = 0;
  let longestWork = 0;
  // Measures the delay of the next turn of the event loop, and this thread's work in it. The rest is work of others on these
  // cores.
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last - 1);
    longestWork = Math.max(longestWork, threadMs() - worked);
    last = performance.now();
    worked = threadMs();
  }, 1);
  const pods = createInformer<Pod>({ client, log, resource: PODS, watchList });
  const ended = pods.run(stop.signal);
  await pods.whenSynced(stop.signal);
  const seconds = (performance.now() - began) / 1000;
  clearInterval(timer);
  say(`blocked ${longest.toFixed(1)}`);
  say(`worked ${longestWork.toFixed(1)}`);
  say(`seconds ${seconds.toFixed(4)}`);
  answerCollections();
  await ended;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

const CALLS = 8000;
const AT_ONCE = 16;

async function readMany(reader: Client, count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await reader.get<ConfigMap>(CONFIG_MAPS, { namespace: 'default', name: 'called' });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function callServer(): Promise<void> {
  await readMany(client, CALLS / 10);
  const began = performance.now();
  await readMany(client, CALLS);
  say(`seconds ${((performance.now() - began) / 1000).toFixed(4)}`);
}

const modes: Record<string, () => Promise<void>> = {
  reconcile: reconcileSamples,
  list: () => listPods(false),
  watchlist: () => listPods(true),
  calls: callServer,
};
const mode = modes[process.argv[2] ?? ''];
if (!mode) throw new Error('usage: ours reconcile | list | watchlist | calls (KUBECONFIG names the cluster)');
await mode();
await client.close();
