import type { KubeObject } from '#api/meta.ts';
import type { Informer } from '../cache/informer.ts';
import type { Controller } from '../controller/controller.ts';
import type { Check } from './probes.ts';

/** Live while no reconcile is far past its deadline: it ignores its signal, and its worker is gone for good. */
export function workersAlive(controllers: readonly Controller[], graceMs = 60_000): Check {
  return () => {
    for (const controller of controllers) {
      const stalled = controller.stalled();
      if (stalled && stalled.forMs > graceMs + stalled.deadlineMs) {
        return `${controller.name}: ${stalled.key} has been in work for ${Math.round(stalled.forMs / 1000)} s`;
      }
    }
    return undefined;
  };
}

/** Live while every informer that was started is still at work; a server that is away is not our failure. */
export function watchesAlive(
  informers: readonly Pick<Informer<KubeObject>, 'identity' | 'stalledMs'>[],
): Check {
  return () => {
    // Its own bound on a watch is below 11 minutes: what is beyond that is stuck in us.
    const stuck = informers.find((informer) => informer.stalledMs() > 15 * 60_000);
    return (
      stuck && `${stuck.identity}: no list, watch or retry for ${Math.round(stuck.stalledMs() / 1000)} s`
    );
  };
}

/** Ready when every cache has synced. */
export function cachesSynced(
  informers: readonly Pick<Informer<KubeObject>, 'identity' | 'hasSynced' | 'failure'>[],
): Check {
  return () => {
    const waiting = informers.filter((informer) => !informer.hasSynced());
    if (waiting.length === 0) return undefined;
    return `waiting for ${waiting.map((one) => one.identity + (one.failure() ? ` (${one.failure()})` : '')).join(', ')}`;
  };
}
