import { findCondition } from '#api/conditions.ts';
import type { ObjectKey } from '#api/meta.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf, keyText } from '#runtime/cache/object-key.ts';
import type { CannotRun, Workspace } from '../api.ts';
import { CallError, type Code } from './call-error.ts';

/** Status code for each reason why a Workspace cannot run. */
const CODES: Readonly<Record<CannotRun, Code>> = {
  QuotaExceeded: 'RESOURCE_EXHAUSTED',
  Refused: 'FAILED_PRECONDITION',
  NameTaken: 'ALREADY_EXISTS',
  InvalidImage: 'INVALID_ARGUMENT',
  ImageNotPulled: 'FAILED_PRECONDITION',
  Unschedulable: 'UNAVAILABLE',
  CannotStart: 'FAILED_PRECONDITION',
  Crashes: 'FAILED_PRECONDITION',
  PodFailed: 'FAILED_PRECONDITION',
};
const codeOf = (reason: string): Code =>
  Object.entries(CODES).find(([known]) => known === reason)?.[1] ?? 'FAILED_PRECONDITION';

/** Maximum number of waiting callers: each holds a stream and a timer. */
const MAX_WAITING = 10_000;

export interface Waiting {
  /**
   * Returns the Workspace once it runs, at or after the version of the write. Rejects with a CallError if it cannot run, is
   * stopped, or is gone. Rejects with the signal's reason; that of a deadline says what the call waited for.
   */
  untilRunning(written: Workspace, signal: AbortSignal): Promise<Workspace>;
}

/** Lets any number of callers wait on one informer. */
export function waitingOn(workspaces: Informer<Workspace>): Waiting {
  const waiting = new Map<string, Set<() => void>>();
  const judge = (workspace: Workspace) => {
    for (const one of waiting.get(keyText(keyOf(workspace))) ?? []) one();
  };
  workspaces.addHandler({ add: judge, update: (_before, after) => judge(after), delete: judge });
  let count = 0;

  /** Returns the result for a Workspace; undefined while the caller must wait. */
  function verdict({ metadata }: Workspace): Workspace | CallError | undefined {
    const { namespace = '', name = '', uid, generation = 0 } = metadata;
    const now = workspaces.get({ namespace, name });
    const what = `workspace "${name}" in namespace "${namespace}"`;
    if (!now || now.metadata.uid !== uid || now.metadata.deletionTimestamp)
      return new CallError('ABORTED', `${what} was removed by another client meanwhile`);
    const { status } = now;
    if ((status?.observedGeneration ?? -1) < generation) return undefined;
    if (now.spec.running === false) return new CallError('ABORTED', `${what} was stopped meanwhile`);
    if (status?.phase === 'Running') return now;
    const stalled = findCondition(status?.conditions, 'Stalled');
    if (stalled?.status !== 'True') return undefined;
    return new CallError(codeOf(stalled.reason), `${what}: ${stalled.reason}: ${stalled.message}`);
  }

  function withLastState(why: unknown, key: ObjectKey): unknown {
    if (!(why instanceof CallError) || why.code !== 'DEADLINE_EXCEEDED') return why;
    const ready = findCondition(workspaces.get(key)?.status?.conditions, 'Ready');
    const state = ready ? `${ready.reason}: ${ready.message}` : 'its controller has not looked at it';
    return new CallError(why.code, `${why.message}; ${state}`);
  }

  return {
    untilRunning(written, signal) {
      if (count >= MAX_WAITING)
        throw new CallError('RESOURCE_EXHAUSTED', `${MAX_WAITING} calls wait already; try again later`);
      const { promise, resolve, reject } = Promise.withResolvers<Workspace>();
      const key = keyText(keyOf(written));
      let reached = false;
      const reported = () => {
        if (!reached) return;
        const found = verdict(written);
        if (found instanceof CallError) reject(found);
        else if (found) resolve(found);
      };
      const onAbort = () => reject(withLastState(signal.reason, keyOf(written)));
      const others = waiting.get(key) ?? new Set();
      waiting.set(key, others.add(reported));
      count += 1;
      signal.addEventListener('abort', onAbort, { once: true });
      const leave = workspaces.onReached(written.metadata.resourceVersion ?? '', () => {
        reached = true;
        reported();
      });
      if (signal.aborted) onAbort();
      return promise.finally(() => {
        leave();
        signal.removeEventListener('abort', onAbort);
        count -= 1;
        others.delete(reported);
        if (others.size === 0) waiting.delete(key);
      });
    },
  };
}
