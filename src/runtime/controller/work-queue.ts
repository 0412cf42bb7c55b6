import { type ItemBackoff, itemBackoff } from '#base/backoff.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { createPriorityList } from './priority-list.ts';

/** Priority of fresh events. */
const NORMAL = 0;
/** Priority of objects from a list or a resync, which wait behind fresh events (controller-runtime handler.LowPriority). */
export const LOW = -100;

export interface QueueObserver {
  added(): void;
  /** Seconds between add and get. */
  got(waitedSeconds: number): void;
  /** Seconds between get and done. */
  done(workedSeconds: number): void;
  retried(): void;
  depth(depth: number): void;
}

/**
 * Queue of keys for workers. Only one worker at a time gets a key. A key added while in progress comes again after `done`; a
 * key added many times comes once.
 */
export interface WorkQueue {
  add(key: string, priority?: number): void;
  /** Adds it in `ms` milliseconds; of several calls for a key the earliest time wins. */
  addAfter(key: string, ms: number, priority?: number): void;
  /** Adds it after its own backoff, which grows until `forget`, or after `atLeastMs`. Returns the milliseconds. */
  addRateLimited(key: string, priority?: number, atLeastMs?: number): number;
  forget(key: string): void;
  failures(key: string): number;
  /** Returns the next key, marked as in progress; undefined after shutdown. */
  get(): Promise<{ key: string; priority: number } | undefined>;
  /** Gives a key back; each key from `get` must be given back. */
  done(key: string): void;
  /** Ends the queue: it hands out and accepts no more keys. */
  shutDown(): void;
  /** Keys ready for work. */
  readonly depth: number;
  /** Keys in progress. */
  readonly processing: number;
}

export interface WorkQueueOptions {
  clock?: Clock | undefined;
  backoff?: ItemBackoff | undefined;
  observe?: QueueObserver | undefined;
}

/** setTimeout takes no more. A key that comes back after 24 days instead of 25 costs one extra reconcile. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Creates a queue. Source: client-go util/workqueue; priorities: controller-runtime pkg/controller/priorityqueue. */
export function createWorkQueue(options: WorkQueueOptions = {}): WorkQueue {
  const { clock = systemClock, backoff = itemBackoff(), observe } = options;
  const ready = createPriorityList();
  const addedAt = new Map<string, number>();
  const processing = new Map<string, number>();
  /** Keys that were added again while in progress. */
  const dirty = new Map<string, number>();
  const delayed = new Map<string, { atMs: number; cancel: () => void }>();
  const idle: ((next: { key: string; priority: number } | undefined) => void)[] = [];
  let down = false;
  let handingOver = false;

  function add(key: string, priority = NORMAL) {
    if (down) return;
    if (processing.has(key)) {
      if (!dirty.has(key)) observe?.added();
      dirty.set(key, Math.max(priority, dirty.get(key) ?? Number.NEGATIVE_INFINITY));
      return;
    }
    if (!ready.has(key)) observe?.added();
    put(key, priority);
  }

  function put(key: string, priority: number) {
    if (!ready.has(key)) addedAt.set(key, clock.monotonicMs());
    ready.add(key, priority);
    observe?.depth(ready.size);
    if (idle.length > 0 && !handingOver) {
      handingOver = true;
      queueMicrotask(handOver);
    }
  }

  /** Hands out keys after the current turn, so that a key that one event adds several times is reconciled once. */
  function handOver() {
    handingOver = false;
    while (!down && idle.length > 0 && ready.size > 0) idle.shift()?.(take());
  }

  function take(): { key: string; priority: number } | undefined {
    const next = ready.take();
    if (!next) return undefined;
    const now = clock.monotonicMs();
    observe?.got((now - (addedAt.get(next.item) ?? now)) / 1000);
    addedAt.delete(next.item);
    observe?.depth(ready.size);
    processing.set(next.item, now);
    return { key: next.item, priority: next.priority };
  }

  function addAfter(key: string, ms: number, priority = NORMAL) {
    if (down) return;
    if (!(ms > 0)) return add(key, priority);
    const atMs = clock.monotonicMs() + ms;
    const present = delayed.get(key);
    if (present && present.atMs <= atMs) return;
    present?.cancel();
    const cancel = clock.after(Math.min(ms, MAX_TIMER_MS), () => {
      delayed.delete(key);
      add(key, priority);
    });
    delayed.set(key, { atMs, cancel });
  }

  return {
    add,
    addAfter,
    addRateLimited(key, priority = NORMAL, atLeastMs = 0) {
      const ms = Math.max(backoff.next(key), atLeastMs);
      observe?.retried();
      addAfter(key, ms, priority);
      return ms;
    },
    forget: (key) => backoff.forget(key),
    failures: (key) => backoff.failures(key),
    async get() {
      if (down) return undefined;
      return take() ?? new Promise((resolve) => idle.push(resolve));
    },
    done(key) {
      const startedMs = processing.get(key);
      if (startedMs === undefined) return;
      processing.delete(key);
      observe?.done((clock.monotonicMs() - startedMs) / 1000);
      const priority = dirty.get(key);
      dirty.delete(key);
      // The observer already counted this key when it was added.
      if (priority !== undefined && !down) put(key, priority);
    },
    shutDown() {
      down = true;
      for (const { cancel } of delayed.values()) cancel();
      delayed.clear();
      for (const worker of idle.splice(0)) worker(undefined);
    },
    get depth() {
      return ready.size;
    },
    get processing() {
      return processing.size;
    },
  };
}
