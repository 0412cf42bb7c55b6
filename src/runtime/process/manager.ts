import { aborted } from '#base/abort.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Controller } from '../controller/controller.ts';
import type { Election } from '../leader/leader.ts';

/** Part of a process that starts and stops: a server, a probe port. */
export interface Service {
  readonly name: string;
  /** Resolves when it serves; rejects if it cannot. */
  start(): Promise<void>;
  /** Resolves when all requests in progress have answers. */
  stop(): Promise<void>;
}

/** Parts of an informer that the manager uses. */
export interface Cache {
  readonly identity: string;
  run(signal: AbortSignal): Promise<void>;
  whenSynced(signal?: AbortSignal): Promise<void>;
}

export interface ManagerOptions {
  /** Probes and metrics: they start first, so that a slow start is visible, and stop last. */
  probes?: Service | undefined;
  /** Webhooks and servers: they start before the caches, since a cache may need a webhook (conversion) to fill. */
  servers?: readonly Service[] | undefined;
  /** Caches, which also run on followers, so that a takeover is fast. */
  caches?: readonly Cache[] | undefined;
  /** Absent: the process runs without election. */
  election?: Election | undefined;
  /** Controllers, which run only while leading. */
  controllers?: readonly Controller[] | undefined;
  /** Recorder, which is flushed last, because stopping also produces Events. */
  recorder?: { stop(): Promise<void> } | undefined;
  log: Logger;
  clock?: Clock | undefined;
  /** Limit of each step of stopping. Default 10,000. */
  stopTimeoutMs?: number | undefined;
}

export interface Manager {
  /**
   * Starts everything in order and works until `signal` aborts, then stops it in reverse order, each step bounded. Rejects
   * if a service cannot start, and with LeadershipLost, upon which the program must exit.
   */
  run(signal: AbortSignal): Promise<void>;
}

/** Creates a manager. Source: controller-runtime pkg/manager/internal.go and runnable_group.go. */
export function createManager(options: ManagerOptions): Manager {
  const { probes, servers = [], caches = [], election, controllers = [], recorder, log } = options;
  const { clock = systemClock, stopTimeoutMs = 10_000 } = options;
  const identities = caches.map(({ identity }) => identity);
  const twice = identities.find((identity, at) => identities.indexOf(identity) !== at);
  if (twice !== undefined) throw new TypeError(`two informers for ${twice}: share one`);

  /** Waits for a step of stopping, for a bounded time. */
  async function bounded(what: string, step: () => Promise<unknown>): Promise<void> {
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(stopTimeoutMs, () => {
        log.error({ what, afterMs: stopTimeoutMs }, 'did not stop in time; going on without it');
        resolve();
      });
    });
    await Promise.race([
      step().catch((error) => log.error({ what, error: messageOf(error) }, 'stop failed')),
      late,
    ]);
    cancel();
  }

  return {
    async run(signal) {
      /** Steps that stop what was started; the last one runs first. */
      const undo: { what: string; step: () => Promise<unknown> }[] = [];
      const begin = (what: string, step: () => Promise<unknown>) => undo.unshift({ what, step });
      const service = async (one: Service) => {
        await one.start();
        begin(one.name, () => one.stop());
        log.info({ service: one.name }, 'serving');
      };
      const running = (what: string, run: (stop: AbortSignal) => Promise<unknown>) => {
        const stop = new AbortController();
        const ended = run(stop.signal);
        begin(what, () => {
          stop.abort(new Error('stopping'));
          return ended;
        });
      };
      const ending = election ? AbortSignal.any([signal, election.lost]) : signal;
      try {
        if (recorder) begin('recorder', () => recorder.stop());
        if (probes) await service(probes);
        for (const server of servers) await service(server);
        running('caches', (stop) => Promise.all(caches.map((cache) => cache.run(stop))));
        await Promise.all(caches.map((cache) => cache.whenSynced(ending)));
        if (election) {
          // The election stops, and gives the lease back, after the controllers have ended.
          begin('election', () => election.stop());
          election.start();
          await election.whenLeading(ending);
        }
        running('controllers', (stop) => Promise.all(controllers.map((controller) => controller.run(stop))));
        await aborted(ending);
      } catch (error) {
        if (!ending.aborted) throw error;
      } finally {
        for (const { what, step } of undo) await bounded(what, step);
      }
      if (election?.lost.aborted && !signal.aborted) throw election.lost.reason;
    },
  };
}
