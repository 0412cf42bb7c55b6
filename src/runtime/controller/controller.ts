/** Runs reconciles: informers add keys to a work queue, and workers reconcile one key at a time from fresh caches. */

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
   * Registers an object that the reconcile wrote, from the server's answer: the key is not reconciled again before the
   * informer's cache has seen it. `informer`: the one that shows the object; default by the object's kind, namespace and
   * labels. If no informer of the controller shows it, nothing waits.
   */
  wrote(object: KubeObject, informer?: Informer<KubeObject>): void;
  /**
   * Registers an object that a delete removed at once (`Deletion`), by its uid: the key is not reconciled again before the
   * informers of that kind have lost it.
   */
  deleted(resource: Resource, object: ObjectKey, uid: string): void;
  /** Returns the uid under which one of the informers shows an object. */
  shown(resource: Resource, object: ObjectKey): string | undefined;
  /**
   * Limit for calls: a worker waits no longer for a server that asks for a pause (429, 503 with Retry-After). If the
   * reconcile throws that error, the key comes back after the pause, and the worker takes another key.
   */
  readonly maxRetryWaitMs: number;
  /** Whether the key has waited until no fresh key was left. */
  readonly behind: boolean;
  readonly log: Logger;
}

/**
 * Result of a reconcile: nothing, or the time of the next one. `behind`: the next one also waits until no fresh key is left.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a reconcile without a result returns void
export type ReconcileResult = { requeueAfterMs?: number | undefined; behind?: boolean } | void;

export interface ControllerObserver extends QueueObserver {
  reconciled(result: 'success' | 'error' | 'requeue_after' | 'terminal', seconds: number): void;
  active(workers: number): void;
}

export interface ControllerOptions<T extends KubeObject> {
  name: string;
  /** Kind whose keys are reconciled. */
  for: Informer<T>;
  /** Filters of events of the `for` kind; an event passes only if all agree. */
  predicates?: readonly Predicate<T>[] | undefined;
  /**
   * Whether an object that exists at the start is as urgent as a fresh event. Default: none is; they wait behind fresh
   * events.
   */
  urgent?: ((object: T) => boolean) | undefined;
  /** Kinds whose objects name an object of the `for` kind as their controlling owner. */
  owns?: readonly Informer<KubeObject>[] | undefined;
  /** Kinds whose objects are related to the `for` kind in another way; `watching` keeps their types. */
  watches?: readonly Watch[] | undefined;
  /** Default 1. */
  workers?: number | undefined;
  /** Limit of one reconcile. Default 60,000. */
  deadlineMs?: number | undefined;
  /** Reconciles a key. An error is retried with the key's backoff; a TerminalError is not retried. */
  reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult>;
  log: Logger;
  clock?: Clock | undefined;
  observe?: ControllerObserver | undefined;
}

/**
 * Longest wait within a reconcile. The API server's own overload asks for 1 s, which is worth it to keep the computed state.
 */
const MAX_RETRY_WAIT_MS = 1000;

export interface Controller {
  readonly name: string;
  /**
   * Works until `signal` aborts; resolves when every worker has ended. It waits for caches that are not synced. Never
   * rejects.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Reconciles a key for a reason outside the informers. */
  enqueue(key: ObjectKey): void;
  /** Returns the longest-running reconcile that is past its deadline, if any, for liveness. */
  stalled(): { key: string; forMs: number; deadlineMs: number } | undefined;
}

/** Creates a controller. Source: controller-runtime pkg/internal/controller/controller.go. */
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
  /** End of a key's pause that a server asked for. Events of its objects do not end the pause. */
  const restsUntilMs = new Map<string, number>();
  const informers: readonly Informer<KubeObject>[] = [
    options.for,
    ...owns,
    ...watches.map(({ informer }) => informer),
  ];

  /** Returns the informer that shows an object; undefined if there is none, and so no cache to wait for. */
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

/** Returns the pause that the server asked for; like the client, 30 s at most. */
function patienceMs(error: unknown): number {
  return isApiError(error) ? Math.min(error.retryAfterSeconds ?? 0, 30) * 1000 : 0;
}

/** Whether an error is a bug of the program, whose stack is worth logging. */
function isBug(error: Error): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}
