import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Informer } from '../cache/informer.ts';
import { keyFromText, keyText } from '../cache/object-key.ts';
import { isApiError } from '../wire/api-error.ts';
import { createHolds } from './read-your-writes.ts';
import { mayShow, type Predicate, shows, subscribe, type Watch } from './sources.ts';
import { TerminalError } from './terminal-error.ts';
import { createWorkQueue, LOW, type QueueObserver } from './work-queue.ts';

export interface ReconcileContext {
  /** Aborts at the deadline and at stop, with a reason; hand it to every call. */
  readonly signal: AbortSignal;
  /**
   * To be told of every object written, as the server answered it: the key is not reconciled again before the
   * informer's cache has seen it. `informer`: the one that shows the object; default by the object's kind,
   * namespace and labels; where none of ours shows it, nothing is waited for.
   */
  wrote(object: KubeObject, informer?: Informer<KubeObject>): void;
  /**
   * To be told of every object that a delete left nothing of (`Deletion`), by its uid: the key is not reconciled
   * again before the informers of that kind have lost it.
   */
  deleted(resource: Resource, object: ObjectKey, uid: string): void;
  /** The uid under which one of the informers shows an object. */
  shown(resource: Resource, object: ObjectKey): string | undefined;
  /**
   * For calls: a worker waits no longer for a server that asks for patience (429, 503 with Retry-After). Thrown
   * out of the reconcile such an error is a wish to come back then, and the worker takes another key.
   */
  readonly maxRetryWaitMs: number;
  /** The key has waited until nothing fresh was left to do. */
  readonly behind: boolean;
  readonly log: Logger;
}

/** Nothing, or when to look again though nothing happens; `behind`: then, and once nothing fresh is left to do. */
// biome-ignore lint/suspicious/noConfusingVoidType: a reconcile that ends without a word returns void
export type ReconcileResult = { requeueAfterMs?: number | undefined; behind?: boolean } | void;

export interface ControllerObserver extends QueueObserver {
  reconciled(result: 'success' | 'error' | 'requeue_after' | 'terminal', seconds: number): void;
  active(workers: number): void;
}

export interface ControllerOptions<T extends KubeObject> {
  name: string;
  /** The kind whose keys are reconciled. */
  for: Informer<T>;
  /** Of the `for` kind; an event passes only if all agree. */
  predicates?: readonly Predicate<T>[] | undefined;
  /** Of those that are there at the start: which are as pressing as fresh news. Default: none; they wait behind it. */
  urgent?: ((object: T) => boolean) | undefined;
  /** Kinds whose objects name one of ours as their controlling owner. */
  owns?: readonly Informer<KubeObject>[] | undefined;
  /** Kinds whose objects lead to ours some other way; `watching` keeps their types. */
  watches?: readonly Watch[] | undefined;
  /** Default 1. */
  workers?: number | undefined;
  /** For one reconcile. Default 60,000. */
  deadlineMs?: number | undefined;
  /** Throw: retried with the key's backoff. TerminalError: not retried. */
  reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult>;
  log: Logger;
  clock?: Clock | undefined;
  observe?: ControllerObserver | undefined;
}

/** The API server's own overload asks for 1 s, which is worth waiting for with what was computed so far. */
const MAX_RETRY_WAIT_MS = 1000;

export interface Controller {
  readonly name: string;
  /**
   * Works until `signal` aborts; resolves when every worker has ended. Caches should be synced before, else
   * it waits for them. Never rejects.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Reconciles a key for a reason of one's own. */
  enqueue(key: ObjectKey): void;
  /** The longest-running reconcile that is past its deadline, if any: for liveness. */
  stalled(): { key: string; forMs: number; deadlineMs: number } | undefined;
}

/** Source: controller-runtime pkg/internal/controller/controller.go. */
export function createController<T extends KubeObject>(options: ControllerOptions<T>): Controller {
  const {
    name,
    workers = 1,
    deadlineMs = 60_000,
    clock = systemClock,
    observe,
    owns = [],
    watches = [],
  } = options;
  const log = options.log.child({ controller: name });
  const queue = createWorkQueue({ clock, observe });
  const holds = createHolds();
  const startedMs = new Map<string, number>();
  /** Until when a key rests that a server has asked to be left alone with: news of its objects does not end that. */
  const restsUntilMs = new Map<string, number>();
  const informers: readonly Informer<KubeObject>[] = [
    options.for,
    ...owns,
    ...watches.map(({ informer }) => informer),
  ];

  /** Undefined where none of ours shows it: then there is no cache to wait for. */
  const informerOf = (object: KubeObject) => informers.find((informer) => shows(informer, object));

  async function reconcileOne(key: string, priority: number, stop: AbortSignal): Promise<void> {
    const abort = new AbortController();
    const onStop = () => abort.abort(stop.reason);
    stop.addEventListener('abort', onStop, { once: true });
    const cancel = clock.after(deadlineMs, () =>
      abort.abort(new Error(`reconcile of ${key} took longer than ${deadlineMs / 1000} s`)),
    );
    const objectKey = keyFromText(key);
    const context: ReconcileContext = {
      signal: abort.signal,
      wrote(object, informer = informerOf(object)) {
        if (informer) holds.wrote(key, object, informer);
      },
      deleted(resource, object, uid) {
        for (const informer of informers) {
          if (mayShow(informer, resource, object)) holds.deleted(key, object, uid, informer);
        }
      },
      shown: (resource, object) =>
        informers.find((informer) => mayShow(informer, resource, object) && informer.get(object))?.get(object)
          ?.metadata.uid,
      maxRetryWaitMs: MAX_RETRY_WAIT_MS,
      behind: priority <= LOW,
      log: log.child({ namespace: objectKey.namespace, object: objectKey.name }),
    };
    const began = clock.monotonicMs();
    startedMs.set(key, began);
    const seconds = () => (clock.monotonicMs() - began) / 1000;
    try {
      const result = await options.reconcile(objectKey, context);
      queue.forget(key);
      const afterMs = result?.requeueAfterMs;
      if (afterMs !== undefined) queue.addAfter(key, Math.max(afterMs, 1), result?.behind ? LOW : priority);
      observe?.reconciled(afterMs === undefined ? 'success' : 'requeue_after', seconds());
    } catch (error) {
      if (stop.aborted) return;
      const terminal = error instanceof TerminalError;
      observe?.reconciled(terminal ? 'terminal' : 'error', seconds());
      const restMs = terminal ? 0 : patienceMs(error);
      if (restMs > 0) restsUntilMs.set(key, clock.monotonicMs() + restMs);
      const retryMs = terminal ? undefined : queue.addRateLimited(key, priority, restMs);
      const stack = error instanceof Error && isBug(error) ? { stack: error.stack } : {};
      context.log.warn({ error: messageOf(error), retryMs, ...stack }, 'reconcile failed');
    } finally {
      cancel();
      stop.removeEventListener('abort', onStop);
      startedMs.delete(key);
    }
  }

  async function work(stop: AbortSignal): Promise<void> {
    for (;;) {
      const next = await queue.get();
      if (!next) return;
      const { key, priority } = next;
      try {
        const restMs = (restsUntilMs.get(key) ?? 0) - clock.monotonicMs();
        if (restMs > 0) queue.addAfter(key, restMs, priority);
        else if (holds.passes(key, () => queue.add(key, priority))) {
          restsUntilMs.delete(key);
          observe?.active(startedMs.size + 1);
          await reconcileOne(key, priority, stop);
          observe?.active(startedMs.size);
        }
      } finally {
        queue.done(key);
      }
    }
  }

  return {
    name,
    async run(signal) {
      try {
        await Promise.all(informers.map((informer) => informer.whenSynced(signal)));
      } catch {
        return;
      }
      const enqueue = (key: ObjectKey, low: boolean) => queue.add(keyText(key), low ? LOW : undefined);
      const leave = subscribe({ ...options, owns, watches }, enqueue);
      const onStop = () => queue.shutDown();
      if (signal.aborted) onStop();
      signal.addEventListener('abort', onStop, { once: true });
      log.info({ workers }, 'started');
      await Promise.all(Array.from({ length: workers }, () => work(signal)));
      leave();
      log.info({}, 'stopped');
    },
    enqueue: (key) => queue.add(keyText(key)),
    stalled() {
      const now = clock.monotonicMs();
      for (const [key, began] of startedMs) {
        if (now - began > deadlineMs) return { key, forMs: now - began, deadlineMs };
      }
      return undefined;
    },
  };
}

/** How long the server asked to be left alone; as the client does, no longer than half a minute. */
function patienceMs(error: unknown): number {
  return isApiError(error) ? Math.min(error.retryAfterSeconds ?? 0, 30) * 1000 : 0;
}

/** Errors of the program itself, for which the stack is worth its lines. */
function isBug(error: Error): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}
