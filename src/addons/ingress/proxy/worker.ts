import { systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { accessLine } from './access-log.ts';
import { createDataPlane, type DataPlane } from './data-plane.ts';
import { trustIn } from './forwarded.ts';
import type { Served } from './traffic.ts';
import { type FromWorker, toWorker, type WorkerStart } from './worker-messages.ts';

const COUNTS_MS = 1_000;

/** A data plane as a process of its own; `write` takes lines of the access log. */
export function dataPlaneOf(start: WorkerStart, write: (line: string) => void): DataPlane {
  const { trustedProxies, accessLog, update, ...options } = start;
  const onServed = (served: Served) => write(accessLine(served, new Date()));
  const plane = createDataPlane({
    ...options,
    clock: systemClock,
    trust: trustIn(trustedProxies),
    onServed: accessLog ? onServed : undefined,
  });
  if (update) plane.apply(update);
  return plane;
}

/** Serves as the process that began this one says. Resolves when it has closed, or that process has gone. */
export function runWorker(write: (line: string) => void): Promise<void> {
  let plane: DataPlane | undefined;
  const send = (message: FromWorker) => {
    if (process.connected) process.send?.(message);
  };
  const ended = Promise.withResolvers<void>();
  const counting = setInterval(() => {
    if (plane) send({ type: 'counts', counts: plane.counts() });
  }, COUNTS_MS);

  async function take(given: unknown): Promise<void> {
    const message = toWorker.parse(given);
    if (message.type === 'start') {
      plane = dataPlaneOf(message.start, write);
      send({ type: 'listening', ...(await plane.listen()) });
    } else if (message.type === 'update') plane?.apply(message.update);
    else if (message.type === 'shed') plane?.shed();
    else {
      await plane?.close(AbortSignal.timeout(message.withinMs));
      send({ type: 'closed' });
      ended.resolve();
    }
  }
  process.on('message', (message) => {
    take(message).catch((error: unknown) => send({ type: 'failed', error: messageOf(error) }));
  });
  // Nobody would tell it of changes any more.
  process.on('disconnect', () => ended.resolve());
  send({ type: 'hello' });
  return ended.promise.finally(() => clearInterval(counting));
}
