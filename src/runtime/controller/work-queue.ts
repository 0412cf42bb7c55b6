import { type ItemBackoff, itemBackoff } from '#base/backoff.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { createPriorityList } from './priority-list.ts';

/** Fresh news. */
const NORMAL = 0;
/** What a list or a resync brings: it waits behind fresh news (controller-runtime handler.LowPriority). */
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
 * A queue of keys for workers. A key is worked on by one worker at a time; added while in work, it comes again
 * after `done`; added many times, it comes once.
 */
export interface WorkQueue {
  add(key: string, priority?: number): void;
  /** Adds it in `ms` milliseconds; of several such wishes the earliest wins. */
  addAfter(key: string, ms: number, priority?: number): void;
  /** Adds it after the item's own backoff, which grows until `forget`, or `atLeastMs`. Answers the milliseconds. */
  addRateLimited(key: string, priority?: number, atLeastMs?: number): number;
  forget(key: string): void;
  failures(key: string): number;
  /** The next key, marked as in work; undefined once shut down. */
  get(): Promise<{ key: string; priority: number } | undefined>;
  /** Each got key must be given back. */
  done(key: string): void;
  /** Nothing is handed out or taken any more. */
  shutDown(): void;
  /** Keys ready for work. */
  readonly depth: number;
  /** Keys in work. */
  readonly processing: number;
}

export interface WorkQueueOptions {
  clock?: Clock | undefined;
  backoff?: ItemBackoff | undefined;
  observe?: QueueObserver | undefined;
}

/** setTimeout takes no more; a key that comes back after 24 days instead of 25 is looked at once too often. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Source: client-go util/workqueue; priorities: controller-runtime pkg/controller/priorityqueue. */
export function createWorkQueue(options: WorkQueueOptions = {}): WorkQueue {
  const { clock = systemClock, backoff = itemBackoff(), observe } = options;
  const ready = createPriorityList();
  const addedAt = new Map<string, number>();
  const processing = new Map<string, number>();
  /** Wanted again while in work. */
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

  /** After the current turn, so that a key that one piece of news adds several times is worked on once. */
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
      // It was told as added when it was.
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
