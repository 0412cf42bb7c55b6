/** Reconciles Workspaces: plans pod and volume, writes them, and reports in status why a Workspace does not run. */

import { PODS, VOLUME_CLAIMS } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import { watching } from '#runtime/controller/sources.ts';
import type { ControllerHost } from '#runtime/process/controller-host.ts';
import { WORKSPACES, type Workspace } from '../api.ts';
import { withNews } from './news.ts';
import { ENDED_MS, endsAtMs, idleAtMs, isWanted, planOf } from './plan.ts';
import type { WorkspacePod } from './pod.ts';
import { type Found, outcomeOf } from './status.ts';
import { GRACE_MS, isReady, troubleOf } from './trouble.ts';
import { makerFor } from './write.ts';

export interface WorkspaceDeps
  extends Pick<ControllerHost, 'client' | 'clock' | 'log' | 'recorder' | 'metrics'> {
  workers: number;
  workspaces: Informer<Workspace>;
  pods: Informer<WorkspacePod>;
  claims: Informer<KubeObject>;
}

/** Pause before a write that the API server refused is tried again. */
const REFUSED_RETRY_MS = 30_000;
/** Interval between checks of a pod that no cache shows, until it is gone. */
const UNSEEN_MS = 5_000;

/** Keeps for every Workspace a volume, which stays, and a pod while it should run. */
export function workspaceController(deps: WorkspaceDeps): Controller {
  const { clock, log, workspaces, pods, claims, recorder, workers } = deps;

  return createController<Workspace>({
    name: 'workspace',
    for: workspaces,
    // Includes objects of a former Workspace of that name: the new one waits until they are gone.
    owns: [pods, claims],
    // Includes objects of others with its name, for which it waits as well.
    watches: [watching(pods, (pod) => [keyOf(pod)]), watching(claims, (claim) => [keyOf(claim)])],
    workers,
    clock,
    log,
    observe: deps.metrics?.controller('workspace', workers),
    async reconcile(key, context) {
      const workspace = workspaces.get(key);
      // The Workspace is deleted, and the garbage collector removes pod and volume.
      if (!workspace || workspace.metadata.deletionTimestamp) return undefined;
      const client = scopedClient(deps.client, context);
      const { uid, resourceVersion } = workspace.metadata;
      const now = clock.now();
      const [ends, idle] = [endsAtMs(workspace), idleAtMs(workspace, now)];
      if (isPast(ends, now)) {
        await client.delete(WORKSPACES, key, { preconditions: { uid, resourceVersion } });
        return undefined;
      }
      if (isPast(idle, now)) {
        // With this version, the write fails if a client used the Workspace meanwhile.
        const stop = { metadata: { resourceVersion }, spec: { running: false } };
        await client.patch(WORKSPACES, key, stop, { type: 'merge' });
        recorder.event(workspace, 'Normal', 'Idle', 'stopped, as it was not used for spec.idleStopMinutes');
        return undefined;
      }

      // This check comes before status reports that nothing runs: a pod without its label is in no cache.
      const isStopping = !isWanted(workspace) && workspace.status?.phase !== 'Stopped';
      const pod = pods.get(key) ?? (isStopping ? await client.find<WorkspacePod>(PODS, key) : undefined);
      const plan = planOf(workspace, { pod, claim: claims.get(key) }, now);
      const { make, refused, taken } = makerFor(client, workspace);
      if (plan.claim) await make(VOLUME_CLAIMS, plan.claim);
      // Without its volume, a pod would only wait.
      if (plan.pod && !refused() && !taken()) await make(PODS, plan.pod);
      if (plan.remove) await client.delete(PODS, key, { preconditions: { uid: plan.remove.metadata.uid } });

      const waits = pod && !plan.hindrance && !isReady(pod) ? pod : undefined;
      const trouble = waits && (await withNews(client, waits, claims.get(key), troubleOf(waits, now), now));
      const hindrance = plan.hindrance ?? taken();
      const found = { pod, removed: plan.remove !== undefined, hindrance, refused: refused(), trouble };
      const { status, notices } = outcomeOf(workspace, found, now);
      if (canonicalJson(status) !== canonicalJson(workspace.status))
        await client.updateStatus<Workspace>(WORKSPACES, { ...workspace, status });
      for (const { type, reason, message } of notices) recorder.event(workspace, type, reason, message);

      const due = [ends, idle].flatMap((at) => (at === undefined ? [] : [Math.max(at - now.getTime(), 1)]));
      return againIn([...due, ...waitsFor(found, pod !== undefined && !pods.get(key))]);
    },
  });
}

const isPast = (atMs: number | undefined, now: Date): boolean => atMs !== undefined && atMs <= now.getTime();

/** Lists the milliseconds until the next check of each thing that a Workspace waits for. */
const waitsFor = ({ refused, hindrance, trouble }: Found, isUnseen: boolean): number[] => [
  ...(refused || hindrance?.reason === 'NameTaken' ? [REFUSED_RETRY_MS] : []),
  ...(isUnseen ? [UNSEEN_MS] : []),
  ...(trouble ? [trouble.reason === 'PodFailed' ? ENDED_MS : GRACE_MS] : []),
];

const againIn = (waits: readonly number[]) =>
  waits.length > 0 ? { requeueAfterMs: Math.min(...waits) } : undefined;
