import type { ObjectKey } from '#api/meta.ts';
import { type Clock, sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '#runtime/client/client.ts';
import { isConflict, isInvalid, isNotFound, isUncertain } from '#runtime/wire/api-error.ts';
import { marks, WORKSPACES, type Workspace } from '../api.ts';
import type { Call } from './call.ts';
import type { Waiting } from './waiting.ts';

export interface AwaitedDeps {
  client: Client;
  clock: Clock;
  log: Logger;
  waiting: Waiting;
}

const UNDO_TRIES = 5;
const UNDO_PAUSE_MS = 1_000;
const UNDO_MS = 10_000;
const SETTLE_MS = 5_000;
/** Before another look at one that somebody wrote meanwhile. */
export const AGAIN_MS = 100;

/** A merge patch of annotations: it is nobody's any more who only waits for it, and stays when that call ends. */
export const NOT_AWAITED = { [marks.awaitedUntil]: null, [marks.askedBy]: null };
export const isAwaited = ({ metadata: { annotations = {} } }: Workspace): boolean =>
  Object.keys(NOT_AWAITED).some((mark) => annotations[mark] !== undefined);

/**
 * What a call has made or started is marked as its own until somebody is told that it runs, uses it or stops it: what
 * still has the mark when the call fails is undone, and nothing else.
 */
export function awaited({ client, clock, log, waiting }: AwaitedDeps) {
  /** Undoes what a call did, whatever became of the call. What others did meanwhile stays. */
  async function undo(what: ObjectKey, act: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    for (let tried = 1; ; tried += 1) {
      try {
        await act(AbortSignal.timeout(UNDO_MS));
        return;
      } catch (error) {
        if (isNotFound(error) || isConflict(error) || isInvalid(error)) return;
        log.warn({ ...what, error: messageOf(error) }, 'what a call did cannot be undone');
        if (tried === UNDO_TRIES) return;
        await sleep(UNDO_PAUSE_MS * tried, undefined, clock);
      }
    }
  }

  /** As it was seen to run, which costs the API server less than a patch; by one where it was written since. */
  async function unmark(running: Workspace, signal: AbortSignal): Promise<void> {
    const { uid, namespace = '', name = '', annotations = {} } = running.metadata;
    const others = Object.fromEntries(Object.entries(annotations).filter(([mark]) => !(mark in NOT_AWAITED)));
    try {
      await client.update<Workspace>(
        WORKSPACES,
        { ...running, metadata: { ...running.metadata, annotations: others } },
        { signal },
      );
    } catch (error) {
      if (!isConflict(error)) throw error;
      const metadata = { uid, annotations: NOT_AWAITED };
      await client.patch<Workspace>(WORKSPACES, { namespace, name }, { metadata }, { type: 'merge', signal });
    }
  }

  return {
    undo,

    /** Deletes what the call has made, while that has its mark. */
    unmake: (key: ObjectKey, { id }: Pick<Call, 'id'>): Promise<void> =>
      undo(key, async (signal) => {
        for (;;) {
          const found = await client.find<Workspace>(WORKSPACES, key, { signal });
          if (found?.metadata.annotations?.[marks.askedBy] !== id) return;
          const { uid, resourceVersion } = found.metadata;
          try {
            await client.delete(WORKSPACES, key, { preconditions: { uid, resourceVersion }, signal });
            return;
          } catch (error) {
            // Its status is written meanwhile.
            if (!isConflict(error)) throw error;
            await sleep(AGAIN_MS, signal, clock);
          }
        }
      }),

    /** Waits until it runs, and takes the marks away, whosever they are: somebody is told of it now. */
    async settled(written: Workspace, { signal }: Pick<Call, 'signal'>): Promise<Workspace> {
      const running = await waiting.untilRunning(written, signal);
      if (!isAwaited(running)) return running;
      const { uid, namespace = '', name = '' } = running.metadata;
      const key = { namespace, name };
      // Not by the call's own signal: cut off, it would leave open whose it is.
      const within = AbortSignal.timeout(SETTLE_MS);
      try {
        await unmark(running, within);
      } catch (error) {
        if (!within.aborted && !isUncertain(error)) throw error;
        const found = await client.find<Workspace>(WORKSPACES, key, {
          signal: AbortSignal.timeout(SETTLE_MS),
        });
        if (!found || found.metadata.uid !== uid || isAwaited(found)) throw error;
      }
      return running;
    },
  };
}
