import type { ObjectKey } from '#api/meta.ts';
import { type Clock, sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '#runtime/client/client.ts';
import { isConflict, isInvalid, isNotFound, isUncertain } from '#runtime/wire/api-error.ts';
import { WORKSPACES, type Workspace, workspaceAnnotations } from '../api.ts';
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
const CLEAN_UP_MS = 5_000;
/** Pause before reading a Workspace again that another client wrote meanwhile. */
export const AGAIN_MS = 100;

/** Merge patch that removes the call's annotations: the Workspace then stays when the call ends. */
export const NOT_AWAITED = {
  [workspaceAnnotations.awaitedUntil]: null,
  [workspaceAnnotations.askedBy]: null,
};
export const isAwaited = ({ metadata: { annotations = {} } }: Workspace): boolean =>
  Object.keys(NOT_AWAITED).some((key) => annotations[key] !== undefined);

/**
 * Marks the Workspaces that a call created or started. The mark is removed when a caller learns that the Workspace runs,
 * uses it or stops it. If the call fails, the server undoes only changes that still have the mark.
 */
export function awaited({ client, clock, log, waiting }: AwaitedDeps) {
  /** Undoes the changes of a call, however the call ended. Changes by others stay. */
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

  /**
   * Removes the marks by an update of the read object, which costs the API server less than a patch; patches after a
   * conflict.
   */
  async function removeAnnotations(running: Workspace, signal: AbortSignal): Promise<void> {
    const { uid, namespace = '', name = '', annotations = {} } = running.metadata;
    const others = Object.fromEntries(Object.entries(annotations).filter(([key]) => !(key in NOT_AWAITED)));
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

    /** Deletes the Workspace of this call while it has the call's mark. */
    unmake: (key: ObjectKey, { id }: Pick<Call, 'id'>): Promise<void> =>
      undo(key, async (signal) => {
        for (;;) {
          const found = await client.find<Workspace>(WORKSPACES, key, { signal });
          if (found?.metadata.annotations?.[workspaceAnnotations.askedBy] !== id) return;
          const { uid, resourceVersion } = found.metadata;
          try {
            await client.delete(WORKSPACES, key, { preconditions: { uid, resourceVersion }, signal });
            return;
          } catch (error) {
            // The controller writes its status meanwhile.
            if (!isConflict(error)) throw error;
            await sleep(AGAIN_MS, signal, clock);
          }
        }
      }),

    /** Waits until the Workspace runs, and removes the marks of any call, because this caller now gets the answer. */
    async isDone(written: Workspace, { signal }: Pick<Call, 'signal'>): Promise<Workspace> {
      const running = await waiting.untilRunning(written, signal);
      if (!isAwaited(running)) return running;
      const { uid, namespace = '', name = '' } = running.metadata;
      const key = { namespace, name };
      // The call's own signal would interrupt the write, and leave open whether the mark is still there.
      const within = AbortSignal.timeout(CLEAN_UP_MS);
      try {
        await removeAnnotations(running, within);
      } catch (error) {
        if (!within.aborted && !isUncertain(error)) throw error;
        const found = await client.find<Workspace>(WORKSPACES, key, {
          signal: AbortSignal.timeout(CLEAN_UP_MS),
        });
        if (!found || found.metadata.uid !== uid || isAwaited(found)) throw error;
      }
      return running;
    },
  };
}
