import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { createLogger } from '#base/log.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { startFaultProxy } from '#lab/fault-proxy/start.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';

const BOUND_MS = 120_000;

interface HalfOpen {
  /** Seconds from the moment when packets stopped until the cache had the objects written after it. */
  seconds: number;
  /** Number of watches that a healthy, quiet cache restarted in this time. */
  touched: number;
}

/** Measures the time until a watch notices that its open connection is dead, with the default timings. */
export async function halfOpen(say: Say): Promise<HalfOpen> {
  await using server = await startApiServer({ say });
  const proxy = await startFaultProxy({ url: server.url, ca: server.ca });
  const endpoint = await loadEndpoint({ kubeconfig: server.kubeconfigPath });
  const client = createClient(endpoint, { userAgent: 'matryoshka-bench' });
  const through = { ...endpoint, url: proxy.url, tls: () => ({ ca: proxy.ca }) };
  const broken = createClient(through, { userAgent: 'matryoshka-bench' });
  const stop = new AbortController();
  const [cut, quiet] = [cacheOf(broken), cacheOf(client)];
  const runs = [cut, quiet].map(({ informer }) => informer.run(stop.signal));
  try {
    await Promise.all([cut, quiet].map(({ informer }) => informer.whenSynced(AbortSignal.timeout(BOUND_MS))));
    const key = { namespace: 'default', name: 'after' };
    const arrived = new Promise<void>((resolve, reject) => {
      cut.informer.addHandler({ add: ({ metadata }) => metadata.name === key.name && resolve() });
      AbortSignal.timeout(BOUND_MS).addEventListener('abort', () =>
        reject(new Error('it was never noticed')),
      );
    });
    const before = quiet.watches();
    const began = performance.now();
    proxy.freeze();
    await client.create(CONFIG_MAPS, { metadata: key });
    await announced(say, 'a connection that is dead and open', () => arrived);
    return { seconds: (performance.now() - began) / 1000, touched: quiet.watches() - before };
  } finally {
    stop.abort(new Error('measured'));
    await Promise.all(runs);
    await Promise.all([client.close(), broken.close(), proxy.stop()]);
  }
}

function cacheOf(client: Client) {
  let watches = 0;
  const informer = createInformer<ConfigMap>({
    client,
    resource: CONFIG_MAPS,
    selection: { namespace: 'default' },
    log: createLogger('silent'),
    observe: (event) => {
      if (event === 'watch') watches += 1;
    },
  });
  return { informer, watches: () => watches };
}
