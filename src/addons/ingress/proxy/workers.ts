import cluster, { type Worker } from 'node:cluster';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { type Counts, noCounts, sumOf } from './counts.ts';
import type { DataPlane, PlaneUpdate } from './data-plane.ts';
import { fromWorker, type ToWorker, type WorkerStart } from './worker-messages.ts';

/**
 * Of serving processes. Requests make garbage that is young; the operator, for which the image is tuned, makes little. And a
 * small heap is marked whole as soon as it has grown by half: 10 to 30 ms for which nobody is served, every few seconds.
 */
export const SERVING_FLAGS = ['--max-semi-space-size=16', '--initial-heap-size=64'];

const HEAP_SHARE = /^(--max-old-space-size-percentage)=([\d.]+)$/;

/**
 * Flags of each of `count` serving processes. The image gives a heap a share of the container's limit. The processes split
 * it, or together they could exceed the limit, and the kernel would kill one. A part is left for this process, which cannot
 * lower its own limit and needs little.
 */
export function flagsOfEach(count: number, own: readonly string[]): string[] {
  const split = own.map((flag) => {
    const [, name, percentage] = HEAP_SHARE.exec(flag) ?? [];
    return name === undefined ? flag : `${name}=${Math.floor(Number(percentage) / (count + 1))}`;
  });
  return [...split, ...SERVING_FLAGS];
}

/** How long a process that ended is not followed by another: it may end at once again. */
const AGAIN_MS = 1_000;

export interface WorkersOptions {
  count: number;
  start: Omit<WorkerStart, 'update'>;
  /** All that is to be served at this moment; undefined while nothing is known. */
  whole(): PlaneUpdate | undefined;
  clock: Clock;
  log: Logger;
}

/** A data plane of several processes, which this one begins, tells of changes, and replaces when they end. */
export function createWorkers(options: WorkersOptions): DataPlane & { serving(): number } {
  const { count, start, whole, clock, log } = options;
  const listening = new Set<Worker>();
  const all = new Set<Worker>();
  const latest = new Map<Worker, Counts>();
  /** Of processes that ended: counters never go back. */
  let past = noCounts();
  let isClosing = false;
  const first = Promise.withResolvers<{ httpPort: number; httpsPort: number }>();

  const send = (worker: Worker, message: ToWorker) => {
    if (worker.isConnected()) worker.send(message);
  };

  function begin(): void {
    const worker = cluster.fork();
    all.add(worker);
    worker.on('message', (given) => {
      const message = fromWorker.parse(given);
      if (message.type === 'hello') send(worker, { type: 'start', start: { ...start, update: whole() } });
      else if (message.type === 'counts') latest.set(worker, message.counts);
      else if (message.type === 'failed') {
        log.error({ worker: worker.id, error: message.error }, 'a serving process failed');
        first.reject(new Error(message.error));
        worker.kill();
      } else if (message.type === 'listening') {
        listening.add(worker);
        if (listening.size === count) first.resolve(message);
      }
    });
    worker.on('exit', (code, signal) => {
      all.delete(worker);
      listening.delete(worker);
      past = { ...sumOf([past, latest.get(worker) ?? noCounts()]), connections: 0 };
      latest.delete(worker);
      if (isClosing) return;
      log.error({ worker: worker.id, code, signal }, 'a serving process ended; another takes its place');
      clock.after(AGAIN_MS, () => {
        if (!isClosing) begin();
      });
    });
  }

  return {
    listen() {
      cluster.setupPrimary({
        serialization: 'advanced',
        execArgv: flagsOfEach(count, process.execArgv),
      });
      for (let at = 0; at < count; at += 1) begin();
      return first.promise;
    },
    apply(update) {
      // One that has not begun gets the whole when it does.
      for (const worker of all) send(worker, { type: 'update', update });
    },
    shed() {
      for (const worker of all) send(worker, { type: 'shed' });
    },
    async close(signal) {
      isClosing = true;
      const left = [...all];
      for (const worker of left) send(worker, { type: 'close', withinMs: 2 ** 31 - 1 });
      const gone = left.map((worker) => new Promise<void>((resolve) => worker.once('exit', () => resolve())));
      const late = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await Promise.race([Promise.all(gone), late]);
      for (const worker of all) worker.process.kill('SIGKILL');
    },
    counts: () => sumOf([past, ...latest.values()]),
    serving: () => listening.size,
  };
}
