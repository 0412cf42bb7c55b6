/** Elects one leader among replicas by a Lease of the API server. */

import type { ObjectKey } from '#api/meta.ts';
import { orAborted } from '#base/abort.ts';
import { type Clock, sleep, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '../client/client.ts';
import { isConflict } from '../wire/api-error.ts';
import { heldBy, LEASES, type Lease } from './lease.ts';

/** Thrown when another process may be leading: the program must exit, because nothing else is safe. */
export class LeadershipLost extends Error {
  override name = 'LeadershipLost';
}

/**
 * Term of a leadership. Of two terms of one Lease name, the later one has the later `since`, or the same and the larger
 * `number`.
 */
export interface Term {
  /**
   * Creation time of the Lease by the API server's clock, in seconds since 1970. A Lease that was deleted gets a new one.
   */
  since: number;
  number: number;
}

export interface Election {
  start(): void;
  /** Resolves when this process holds the lease; rejects with the signal's reason. */
  whenLeading(signal: AbortSignal): Promise<void>;
  /**
   * Whether a write may be made now. Ask before each write: a process that was stopped past its lease and resumed gets false
   * before any of its timers runs.
   */
  isLeading(): boolean;
  /**
   * Returns the present term, for systems besides the API server that must refuse former leaders; undefined without
   * leadership.
   */
  term(): Term | undefined;
  /** Aborts with LeadershipLost. */
  readonly lost: AbortSignal;
  /** Ends the election, and gives a held lease back. Call it when all work under it has ended. */
  stop(): Promise<void>;
}

export interface ElectionOptions {
  client: Client;
  lease: ObjectKey;
  /** Unique identity, which also differs after a restart of the process. */
  identity: string;
  /** Time that others wait after the last renewal that they saw. Default 12,000. */
  leaseMs?: number | undefined;
  /**
   * Time after the begin of the last successful renewal at which this process stops leading. Default 8,000; must be below
   * `leaseMs`.
   */
  renewMs?: number | undefined;
  /** Pause between attempts. Default 2,000. */
  retryMs?: number | undefined;
  log: Logger;
  clock?: Clock | undefined;
  observe?: ((leading: boolean) => void) | undefined;
}

/** Limit of a call while the election stops. */
const STOP_CALL_MS = 3000;

/**
 * Runs leader election on a Lease. Time is local and monotonic. Another's lease expires when this process saw no change of
 * it for its duration; its time stamps do not count. Ours expires when we began its last renewal too long ago. Source:
 * client-go tools/leaderelection. Unlike there, a follower wakes at the expiry that it observed instead of at its next poll.
 */
export function createElection(options: ElectionOptions): Election {
  const { client, lease: key, identity, log, observe, clock = systemClock } = options;
  const { leaseMs = 12_000, renewMs = 8_000, retryMs = 2_000 } = options;
  if (!(renewMs < leaseMs && retryMs < renewMs)) throw new TypeError('wanted: retryMs < renewMs < leaseMs');
  const lost = new AbortController();
  const ending = new AbortController();
  const leading = Promise.withResolvers<void>();
  let loop: Promise<void> | undefined;
  /** Lease as last seen, and the time when it was first seen so. */
  let seen: { version: string; lease: Lease; atMs: number } | undefined;
  /** Begin of the last successful renewal. */
  let renewedMs: number | undefined;
  let trouble: string | undefined;

  const calls = () => ({ signal: ending.signal, timeoutMs: Math.max(Math.floor(renewMs * 0.4), 500) });
  const see = (lease: Lease) => {
    const version = lease.metadata.resourceVersion ?? '';
    if (seen?.version !== version) seen = { version, lease, atMs: clock.monotonicMs() };
  };
  const isLeading = () =>
    renewedMs !== undefined && !lost.signal.aborted && clock.monotonicMs() - renewedMs < renewMs;

  /** Returns the milliseconds for which another's lease still holds, by our own observation. */
  function othersRemainingMs(): number {
    const spec = seen?.lease.spec;
    if (!seen || !spec?.holderIdentity || spec.holderIdentity === identity) return 0;
    return seen.atMs + (spec.leaseDurationSeconds ?? leaseMs / 1000) * 1000 - clock.monotonicMs();
  }

  async function attempt(): Promise<void> {
    const begunMs = clock.monotonicMs();
    // While leading, the lease that we wrote last is the freshest. After a conflict it is read again.
    if (renewedMs === undefined || !seen) {
      const found = await client.find<Lease>(LEASES, key, calls());
      if (!found) {
        const fresh = heldBy({ metadata: { ...key } }, identity, leaseMs, clock.now());
        see(await client.create<Lease>(LEASES, fresh, calls()));
        return renewed(begunMs);
      }
      see(found);
      if (othersRemainingMs() > 0) return;
    }
    const base = seen?.lease;
    if (!base) return;
    // The update carries the version, so it is a Conflict if another process took the lease meanwhile.
    see(await client.update<Lease>(LEASES, heldBy(base, identity, leaseMs, clock.now()), calls()));
    renewed(begunMs);
  }

  function renewed(begunMs: number) {
    const first = renewedMs === undefined;
    // The answer came late: the lease may have passed to another process since.
    if (clock.monotonicMs() - begunMs >= renewMs) return;
    renewedMs = begunMs;
    if (!first) return;
    log.info({ lease: key.name, identity }, 'leading');
    observe?.(true);
    leading.resolve();
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      try {
        await attempt();
        trouble = undefined;
      } catch (error) {
        if (ending.signal.aborted) return;
        // The next attempt needs the present lease: it may belong to another process, or to us by a write whose answer was
        // lost.
        await refresh();
        const message = messageOf(error);
        if (message !== trouble) log.warn({ error: message, lease: key.name }, 'lease: trying on');
        trouble = message;
      }
      if (renewedMs !== undefined) {
        const other = seen?.lease.spec?.holderIdentity;
        if (other !== identity) return lose(`the lease is held by '${other ?? ''}'`);
        if (!isLeading()) return lose(`the lease was not renewed for ${renewMs / 1000} s`);
      }
      const untilMs =
        renewedMs === undefined ? othersRemainingMs() : renewedMs + renewMs - clock.monotonicMs();
      const waitMs = untilMs > 0 ? Math.min(retryMs, untilMs + 1) : retryMs;
      await sleep(waitMs, ending.signal, clock).catch(() => {});
    }
  }

  async function refresh(): Promise<void> {
    try {
      const found = await client.find<Lease>(LEASES, key, calls());
      if (found) see(found);
      else seen = undefined;
    } catch {
      // The next attempt reports the error.
    }
  }

  /** Frees the lease; returns false if it belongs to another process, or is gone. */
  async function giveBack(held: Lease, triesLeft = 3): Promise<boolean> {
    try {
      // The update carries the version, because a lease that belongs to another process must not be freed.
      const free = heldBy(held, undefined, leaseMs, clock.now());
      await client.update<Lease>(LEASES, free, { timeoutMs: STOP_CALL_MS });
      return true;
    } catch (error) {
      if (!isConflict(error) || triesLeft <= 1) throw error;
    }
    // A renewal that was aborted when we stopped may have succeeded.
    const found = await client.find<Lease>(LEASES, key, { timeoutMs: STOP_CALL_MS });
    if (found?.spec?.holderIdentity !== identity) return false;
    return giveBack(found, triesLeft - 1);
  }

  function lose(why: string) {
    observe?.(false);
    log.error({ lease: key.name, identity, why }, 'leadership lost');
    lost.abort(new LeadershipLost(why));
  }

  return {
    start() {
      loop ??= run();
    },
    whenLeading: (signal) => orAborted(leading.promise, signal),
    isLeading,
    term() {
      if (!isLeading() || !seen) return undefined;
      const { metadata, spec } = seen.lease;
      // The lease was read and belongs to another process: this leadership is about to be lost.
      if (spec?.holderIdentity !== identity) return undefined;
      const since = Math.floor(Date.parse(metadata.creationTimestamp ?? '') / 1000);
      return Number.isNaN(since) ? undefined : { since, number: spec.leaseTransitions ?? 0 };
    },
    lost: lost.signal,
    async stop() {
      const mine = isLeading();
      ending.abort(new Error('stopping'));
      await loop;
      renewedMs = undefined;
      if (!mine || !seen) return;
      observe?.(false);
      if (await giveBack(seen.lease)) log.info({ lease: key.name }, 'lease given back');
    },
  };
}
