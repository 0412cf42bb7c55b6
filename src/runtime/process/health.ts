import type { KubeObject } from '#api/meta.ts';
import type { Informer } from '../cache/informer.ts';
import type { Controller } from '../controller/controller.ts';
import type { Check } from './probes.ts';

/** Reports a reconcile far past its deadline: it ignores its signal, and its worker is lost. */
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

/** Reports a started informer that no longer works. An unreachable server is not a failure of this process. */
export function watchesAlive(
  informers: readonly Pick<Informer<KubeObject>, 'identity' | 'stalledMs'>[],
): Check {
  return () => {
    // An informer bounds each watch below 11 minutes, so a longer silence is a fault of this process.
    const stuck = informers.find((informer) => informer.stalledMs() > 15 * 60_000);
    return (
      stuck && `${stuck.identity}: no list, watch or retry for ${Math.round(stuck.stalledMs() / 1000)} s`
    );
  };
}

/** Reports a cache that has not synced. */
export function cachesSynced(
  informers: readonly Pick<Informer<KubeObject>, 'identity' | 'hasSynced' | 'failure'>[],
): Check {
  return () => {
    const waiting = informers.filter((informer) => !informer.hasSynced());
    if (waiting.length === 0) return undefined;
    return `waiting for ${waiting.map((one) => one.identity + (one.failure() ? ` (${one.failure()})` : '')).join(', ')}`;
  };
}
