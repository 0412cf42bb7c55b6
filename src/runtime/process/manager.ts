import { aborted } from '#base/abort.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Controller } from '../controller/controller.ts';
import type { Election } from '../leader/leader.ts';

/** Something that is started and stopped: a server, a probe port. */
export interface Service {
  readonly name: string;
  /** Resolves when it serves; rejects when it cannot. */
  start(): Promise<void>;
  /** Resolves when what was begun is answered. */
  stop(): Promise<void>;
}

/** What the manager needs of an informer. */
export interface Cache {
  readonly identity: string;
  run(signal: AbortSignal): Promise<void>;
  whenSynced(signal?: AbortSignal): Promise<void>;
}

export interface ManagerOptions {
  /** Probes and metrics: first up, so that a slow start can be seen; last down. */
  probes?: Service | undefined;
  /** Webhooks and servers: before the caches, since a cache may need a webhook (conversion) to fill. */
  servers?: readonly Service[] | undefined;
  /** On followers too, so that a takeover is warm. */
  caches?: readonly Cache[] | undefined;
  /** Absent: alone in the world. */
  election?: Election | undefined;
  /** Only while leading. */
  controllers?: readonly Controller[] | undefined;
  /** Flushed last: stopping is worth an Event as well. */
  recorder?: { stop(): Promise<void> } | undefined;
  log: Logger;
  clock?: Clock | undefined;
  /** For each step of stopping. Default 10,000. */
  stopTimeoutMs?: number | undefined;
}

export interface Manager {
  /**
   * Starts everything in order and works until `signal` aborts, then stops it in reverse, each step bounded.
   * Rejects when a service cannot start, and with LeadershipLost, upon which the program must exit.
   */
  run(signal: AbortSignal): Promise<void>;
}

/** Source: controller-runtime pkg/manager/internal.go and runnable_group.go. */
export function createManager(options: ManagerOptions): Manager {
  const { probes, servers = [], caches = [], election, controllers = [], recorder, log } = options;
  const { clock = systemClock, stopTimeoutMs = 10_000 } = options;
  const identities = caches.map(({ identity }) => identity);
  const twice = identities.find((identity, at) => identities.indexOf(identity) !== at);
  if (twice !== undefined) throw new TypeError(`two informers for ${twice}: share one`);

  /** Waits for a step of stopping, but not for ever. */
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
      /** How to undo what was started, last first. */
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
          // Stopped, and the lease given back, only when the controllers have ended: they are undone before.
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
