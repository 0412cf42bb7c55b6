import { join } from 'node:path';
import { createHistogram } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { z } from 'zod';
import { PODS, type Pod } from '#api/core.ts';
import { createLogger } from '#base/log.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { createClient } from '#runtime/client/client.ts';
import { parseKubeConfig } from '#runtime/kubeconfig/kube-config.ts';

const RATE = 1_000;
const MARGIN_MS = 60_000;

export interface Streamed {
  sent: number;
  /** Events that reached the handler in order. */
  events: number;
  p99Ms: number;
  maxMs: number;
  /** Ratio of the memory in use at the end to that after the first tenth. */
  growth: number;
}

const helloSchema = z.object({ url: z.string(), ca: z.string() });

/** Measures from socket to handler: a recorded event, 60,000 times a minute, through client, reflector and informer. */
export async function stream(recorded: Pod, minutes: number, say: Say): Promise<Streamed> {
  const seconds = Math.round(minutes * 60);
  const total = RATE * seconds;
  const child = execa(
    process.execPath,
    [join(import.meta.dirname, 'stream-server.ts'), JSON.stringify(recorded), String(RATE), String(seconds)],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit', buffer: false, reject: false },
  );
  const stop = new AbortController();
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { url, ca } = helloSchema.parse(JSON.parse(String((await lines.next()).value)));
    const kubeconfig = {
      clusters: [{ name: 'a', cluster: { server: url, 'certificate-authority-data': btoa(ca) } }],
      users: [{ name: 'a', user: { token: 'none' } }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      'current-context': 'a',
    };
    const client = createClient(await parseKubeConfig(JSON.stringify(kubeconfig)), { userAgent: 'bench' });
    const waits = createHistogram();
    let events = 0;
    let early = 0;
    const done = Promise.withResolvers<void>();
    const note = ({ metadata }: Pod) => {
      const [number, at] = (metadata.annotations?.['sent'] ?? '').split(' ').map(Number);
      if (number !== events) done.reject(new Error(`event ${number} came where ${events} was due`));
      events += 1;
      const waited = performance.timeOrigin + performance.now() - (at ?? 0);
      waits.record(Math.max(1, Math.round(waited * 1_000)));
      if (events === total / 10) early = heapMiB();
      if (events === total) done.resolve();
    };
    const informer = createInformer<Pod>({
      client,
      log: createLogger('error'),
      resource: PODS,
      watchList: false,
    });
    informer.addHandler({ add: note, update: (_before, after) => note(after) });
    const ended = informer.run(stop.signal);
    const late = setTimeout(
      () => done.reject(new Error(`${events} of ${total} events came in time`)),
      seconds * 1_000 + MARGIN_MS,
    );
    await announced(say, `${total} events in ${minutes} min`, () => done.promise);
    clearTimeout(late);
    const growth = heapMiB() / early;
    stop.abort(new Error('done'));
    await ended;
    await client.close();
    const ms = (microseconds: number) => microseconds / 1_000;
    return { sent: total, events, p99Ms: ms(waits.percentile(99)), maxMs: ms(waits.max), growth };
  } finally {
    stop.abort(new Error('done'));
    child.kill('SIGKILL');
    await child;
  }
}

/** Returns the resident memory in MiB, after a collection. */
function heapMiB(): number {
  if (!globalThis.gc) throw new Error('run with --expose-gc');
  globalThis.gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return process.memoryUsage().rss / 1_048_576;
}
