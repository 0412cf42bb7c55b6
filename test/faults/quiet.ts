import type { KubeObject, ObjectKey } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { shows } from '#runtime/controller/sources.ts';

/** Returns the idle time in ms before a jump of this length; the API server's own work is not tracked. */
const quietMs = (jumpMs: number): number => (jumpMs <= 1_000 ? 4 : jumpMs <= 60_000 ? 40 : 250);
/** Idle time before a goal is checked. */
const GOAL_MS = 25;
/** Time that a cache is held back: longer than the 100 ms that a reconcile waits after its effects. */
const HELD_MS = 150;
/** Longer timers are resyncs and watch renewals, which also exist at rest. */
export const REST_MS = 250_000;

/**
 * The clock of one plan. It runs in real time while a call or a process is active, or a cache has not yet seen a write.
 * Otherwise it jumps to the next timer. So plans do not wait for timers, and no timer is skipped.
 */
export interface Quiet extends Clock {
  /** Marks the start of an activity; the returned function marks its end. */
  begin(): () => void;
  /** `object` was written: caches of its kind must see it before time may jump. */
  expect(object: KubeObject): void;
  /** An object was deleted: caches must lose it (that uid, or any) before time may jump. */
  expectGone(plural: string, key: ObjectKey, uid?: string): void;
  /** Adds caches to wait for; the returned function removes them. */
  register(informers: readonly Informer<KubeObject>[]): () => void;
  /** Registers a function that is called when nothing else can happen. It returns whether it released something. */
  onStandstill(release: () => boolean): void;
  /** Resolves at an idle moment when `holds` returns true; rejects if there is none. */
  until(what: string, holds: () => boolean): Promise<void>;
  /** Returns the milliseconds until the next timer. */
  nextMs(): number;
  /** Runs the timers that were set for exactly this many milliseconds. */
  runTimersOf(ms: number): void;
}

export function createQuiet(limitMs: number, describe: () => string): Quiet {
  let skippedMs = 0;
  let active = 0;
  let awaited: { informer: Informer<KubeObject>; seen: () => boolean }[] = [];
  const caches = new Set<Informer<KubeObject>>();
  const timers = new Set<{ atMs: number; ms: number; real: NodeJS.Timeout; run: () => void }>();
  const releases: (() => boolean)[] = [];
  let wish:
    | { what: string; holds: () => boolean; resolve: () => void; reject: (error: Error) => void }
    | undefined;
  let check: NodeJS.Timeout | undefined;
  let lastMs = 0;

  const monotonicMs = () => performance.now() + skippedMs;
  const lagging = () => {
    awaited = awaited.filter(({ informer, seen }) => caches.has(informer) && !seen());
    return awaited.length > 0;
  };
  const next = () => {
    let first: { atMs: number } | undefined;
    for (const timer of timers) if (!first || timer.atMs < first.atMs) first = timer;
    return first === undefined ? Number.POSITIVE_INFINITY : Math.max(0, first.atMs - monotonicMs());
  };
  /** Returns what keeps time from jumping. */
  const busyWith = (): string => {
    if (active > 0) return `${active} calls or processes are active`;
    if (lagging())
      return `caches are behind: ${awaited.map(({ informer }) => informer.resource.plural).join(', ')}`;
    return `the next timer is in ${Math.round(next())} ms, ${Math.round(skippedMs / 1_000)} s were skipped`;
  };
  function fire() {
    const now = monotonicMs();
    for (const timer of [...timers].sort((a, b) => a.atMs - b.atMs)) {
      if (timer.atMs > now || !timers.delete(timer)) continue;
      clearTimeout(timer.real);
      timer.run();
    }
  }
  function schedule(ms: number) {
    clearTimeout(check);
    if (wish) check = setTimeout(checkNow, ms);
  }
  const touch = () => {
    lastMs = performance.now();
    if (active === 0) schedule(4);
  };

  function checkNow() {
    if (!wish || active > 0) return;
    if (lagging()) {
      // Only a cache that a fault holds back stays behind for this long.
      if (performance.now() - lastMs < HELD_MS) return schedule(8);
      if (releases.some((release) => release())) return touch();
      return performance.now() - lastMs > limitMs ? fail('a cache never saw a write') : schedule(20);
    }
    const jumpMs = next();
    const holds = wish.holds();
    const wantedMs = holds ? GOAL_MS : quietMs(jumpMs);
    const quietSince = performance.now() - lastMs;
    if (quietSince < wantedMs) return schedule(wantedMs - quietSince);
    if (releases.some((release) => release())) return touch();
    if (holds) {
      const { resolve } = wish;
      wish = undefined;
      return resolve();
    }
    if (skippedMs > limitMs * 1_000 || jumpMs === Number.POSITIVE_INFINITY) return fail('it never came');
    skippedMs += jumpMs;
    touch();
    fire();
  }
  function fail(why: string) {
    wish?.reject(new Error(`${wish.what}: ${why}; ${describe()}`));
    wish = undefined;
  }

  return {
    now: () => new Date(Date.now() + skippedMs),
    monotonicMs,
    after(ms, run) {
      const real = setTimeout(() => {
        timers.delete(timer);
        touch();
        run();
      }, ms);
      const timer = { atMs: monotonicMs() + ms, ms, real, run };
      timers.add(timer);
      touch();
      return () => {
        clearTimeout(real);
        timers.delete(timer);
      };
    },
    begin() {
      active += 1;
      clearTimeout(check);
      let open = true;
      return () => {
        if (!open) return;
        open = false;
        active -= 1;
        touch();
      };
    },
    expect(object) {
      for (const informer of caches) {
        const seen = () => informer.hasReached(object.metadata.resourceVersion ?? '0');
        if (shows(informer, object)) awaited.push({ informer, seen });
      }
      touch();
    },
    expectGone(plural, key, uid) {
      for (const informer of caches) {
        if (informer.resource.plural !== plural) continue;
        const there = informer.get(key)?.metadata.uid;
        if (there === undefined || (uid !== undefined && uid !== there)) continue;
        awaited.push({ informer, seen: () => informer.get(key)?.metadata.uid !== there });
      }
      touch();
    },
    register(informers) {
      for (const informer of informers) caches.add(informer);
      return () => {
        for (const informer of informers) caches.delete(informer);
      };
    },
    onStandstill: (release) => void releases.push(release),
    until(what, holds) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => fail(`not within ${limitMs / 1000} s, ${busyWith()}`), limitMs);
        const leave = () => clearTimeout(timer);
        wish = {
          what,
          holds,
          resolve: () => {
            leave();
            resolve();
          },
          reject: (error) => {
            leave();
            reject(error);
          },
        };
        touch();
      });
    },
    nextMs: next,
    runTimersOf(ms) {
      for (const timer of [...timers]) {
        if (timer.ms !== ms || !timers.delete(timer)) continue;
        clearTimeout(timer.real);
        timer.run();
      }
    },
  };
}
