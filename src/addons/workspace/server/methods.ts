import type { ObjectKey } from '#api/meta.ts';
import { sleep } from '#base/clock.ts';
import { isAlreadyExists, isConflict, isUncertain } from '#runtime/wire/api-error.ts';
import { WORKSPACES, type Workspace, workspaceAnnotations } from '../api.ts';
import { AGAIN_MS, type AwaitedDeps, awaited, isAwaited, NOT_AWAITED } from './awaited.ts';
import type { Call } from './call.ts';
import { CallError } from './call-error.ts';
import { infoOf, keyFrom, reportedOf, SUCCESS, workspaceFrom } from './messages.ts';

export type Methods = Readonly<Record<string, (call: Call) => Promise<unknown>>>;

/** Time by which a Workspace may outlive its call if the server could not remove it. */
const REMOVED_LATE_MS = 60_000;
/** Shortest time between two writes of the last use. */
const KEPT_MS = 20_000;
const MERGE = { type: 'merge' } as const;

/** Returns the methods of CloudIdeService, by name. They reject with CallErrors, or errors of the API server. */
export function cloudIdeMethods(deps: AwaitedDeps): Methods {
  const { client, clock } = deps;
  const { isDone, undo, unmake } = awaited(deps);
  const get = async (key: ObjectKey, signal: AbortSignal): Promise<Workspace> => {
    const found = await client.find<Workspace>(WORKSPACES, key, { signal });
    if (found) return found;
    throw new CallError('NOT_FOUND', `there is no workspace "${key.name}" in namespace "${key.namespace}"`);
  };

  async function create(key: ObjectKey, object: Workspace, { id, signal }: Call): Promise<Workspace> {
    try {
      return await client.create<Workspace>(WORKSPACES, object, { signal });
    } catch (error) {
      if (!signal.aborted && !isAlreadyExists(error) && !isUncertain(error)) throw error;
      // This call may have created it despite the error.
      const found = await client.find<Workspace>(WORKSPACES, key).catch(() => undefined);
      if (found?.metadata.annotations?.[workspaceAnnotations.askedBy] === id) return found;
      throw isAlreadyExists(error)
        ? new CallError('ALREADY_EXISTS', `workspace "${key.name}" exists in namespace "${key.namespace}"`)
        : error;
    }
  }

  /**
   * Starts a Workspace in the version that was read, with the call's mark; returns undefined if another client changed it
   * first.
   */
  async function start({ metadata }: Workspace, { id, signal }: Call): Promise<Workspace | undefined> {
    const { uid, resourceVersion, namespace = '', name = '' } = metadata;
    const marked = {
      uid,
      resourceVersion,
      annotations: { ...NOT_AWAITED, [workspaceAnnotations.askedBy]: id },
    };
    try {
      return await client.patch<Workspace>(
        WORKSPACES,
        { namespace, name },
        { metadata: marked, spec: { running: true } },
        { ...MERGE, signal },
      );
    } catch (error) {
      if (!isConflict(error)) throw error;
      await sleep(AGAIN_MS, undefined, clock);
      return undefined;
    }
  }

  return {
    async createSpaceAndWaitForRunning(call) {
      const { key, spec } = workspaceFrom(call.message);
      await call.allow('create', key);
      const until = new Date(call.endsAtMs + REMOVED_LATE_MS).toISOString();
      const annotations = {
        [workspaceAnnotations.awaitedUntil]: until,
        [workspaceAnnotations.askedBy]: call.id,
      };
      const made = await create(key, { metadata: { ...key, annotations }, spec }, call);
      try {
        return infoOf(await isDone(made, call));
      } catch (error) {
        await unmake(key, call);
        throw error;
      }
    },

    async startSpaceAndWaitForRunning(call) {
      const key = keyFrom(call.message);
      await call.allow('update', key);
      const path = `/metadata/annotations/${workspaceAnnotations.askedBy.replace('/', '~1')}`;
      // The test checks the mark alone, which exists even if the answer to the write was lost.
      const stop = [
        { op: 'test', path, value: call.id },
        { op: 'replace', path: '/spec/running', value: false },
        { op: 'remove', path },
      ];
      let found = await get(key, call.signal);
      try {
        while (found.spec.running === false) {
          const started = await start(found, call);
          if (started) return infoOf(await isDone(started, call));
          found = await get(key, call.signal);
        }
      } catch (error) {
        await undo(key, (signal) => client.patch(WORKSPACES, key, stop, { type: 'json', signal }));
        throw error;
      }
      // If another call started it, this call waits too, but must not stop it.
      return infoOf(await isDone(found, call));
    },

    async stopSpace({ message, signal, allow }) {
      const key = keyFrom(message);
      await allow('update', key);
      const { uid } = (await get(key, signal)).metadata;
      await client.patch(
        WORKSPACES,
        key,
        { metadata: { uid, annotations: NOT_AWAITED }, spec: { running: false } },
        { ...MERGE, signal },
      );
      return SUCCESS;
    },

    async keepSpace({ message, signal, allow }) {
      const key = keyFrom(message);
      await allow('update', key);
      const found = await get(key, signal);
      const { uid, annotations: there = {} } = found.metadata;
      const now = clock.now();
      const isReported =
        Math.abs(now.getTime() - Date.parse(there[workspaceAnnotations.activeAt] ?? '')) < KEPT_MS;
      if (isReported && !isAwaited(found)) return SUCCESS;
      const annotations = { ...NOT_AWAITED, [workspaceAnnotations.activeAt]: now.toISOString() };
      await client.patch(WORKSPACES, key, { metadata: { uid, annotations } }, { ...MERGE, signal });
      return SUCCESS;
    },

    async deleteSpace({ message, signal, allow }) {
      const key = keyFrom(message);
      await allow('delete', key);
      await get(key, signal);
      await client.delete(WORKSPACES, key, { signal });
      return SUCCESS;
    },

    async getPodSpaceStatus({ message, signal, allow }) {
      const key = keyFrom(message);
      await allow('get', key);
      return reportedOf(await get(key, signal));
    },

    async getPodSpaceInfo({ message, signal, allow }) {
      const key = keyFrom(message);
      await allow('get', key);
      return infoOf(await get(key, signal));
    },
  };
}
