import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import {
  type ControllerHost,
  type ControllerHostOptions,
  createControllerHost,
} from '../process/controller-host.ts';

/** Creates a host that logs nothing and writes no Events. */
export const quietHost = (
  given: Pick<ControllerHostOptions, 'client' | 'namespace'> & Partial<ControllerHostOptions>,
): ControllerHost =>
  createControllerHost({
    clock: systemClock,
    log: createLogger('silent'),
    recorder: { event: () => {}, stop: async () => {} },
    workers: 1,
    ...given,
  });
