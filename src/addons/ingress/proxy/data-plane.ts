import type { Clock } from '#base/clock.ts';
import { createLiveTable, type RoutesUpdate } from '../routing/update.ts';
import { createCertificates, type Pair } from './certificates.ts';
import { type Counts, count, noCounts } from './counts.ts';
import { createDeadlines } from './deadlines.ts';
import { createEndpointPool } from './endpoint-pool.ts';
import type { Trust } from './forwarded.ts';
import { createH2Pool } from './h2-endpoint.ts';
import type { Limits } from './limits.ts';
import { createListeners, type ListenersOptions } from './listeners.ts';
import { createStamp } from './stamp.ts';
import { createTurns, type Served, type Traffic } from './traffic.ts';

/** All that is to be served, or what of it is another than before; plain data, which passes between processes. */
export interface PlaneUpdate {
  routes?: RoutesUpdate;
  /** Host → name of its pair, null for the proxy's own, and the pairs: all of them, where one has changed. */
  certificates?: {
    hosts: readonly (readonly [string, string | null])[];
    pairs: readonly (readonly [string, Pair])[];
  };
}

/** What serves clients: in this process, or in processes of its own. */
export interface DataPlane {
  listen(): Promise<{ httpPort: number; httpsPort: number }>;
  /** Takes effect with the next request; those under way go on as they began. */
  apply(update: PlaneUpdate): void;
  /** Each answer is the last one of its connection from now on. */
  shed(): void;
  close(signal: AbortSignal): Promise<void>;
  counts(): Counts;
}

export interface DataPlaneOptions extends ListenersOptions {
  clock: Clock;
  limits: Limits;
  trust: Trust;
  /** Shown to clients that ask for a host without a certificate. */
  own: Pair;
  /** Told of each request that is over. */
  onServed?: ((served: Served) => void) | undefined;
  /** How exact timeouts are. Default 500. */
  checkMs?: number | undefined;
}

export function createDataPlane(options: DataPlaneOptions): DataPlane {
  const { clock, limits, trust, own, onServed, checkMs } = options;
  const deadlines = createDeadlines(clock, checkMs);
  const live = createLiveTable();
  const certificates = createCertificates(own);
  const counts = noCounts();
  let hasRoutes = false;
  const traffic: Traffic = {
    limits,
    deadlines,
    trust,
    endpoints: createEndpointPool({ deadlines, limits }),
    h2: createH2Pool({ deadlines, limits }),
    turns: createTurns(() => deadlines.nowMs),
    stamp: createStamp(clock),
    table: () => (hasRoutes ? live.table : undefined),
    nowMs: () => clock.monotonicMs(),
    served(one) {
      count(counts, one);
      onServed?.(one);
    },
  };
  const listeners = createListeners(traffic, certificates, options);

  return {
    listen: () => listeners.listen(),
    apply({ routes, certificates: pairs }) {
      if (pairs) certificates.replace(new Map(pairs.hosts), new Map(pairs.pairs));
      if (!routes) return;
      live.apply(routes);
      hasRoutes = true;
      if (routes.backends.length === 0) return;
      const endpoints = live.endpoints();
      traffic.endpoints.keepOnly(endpoints);
      traffic.h2.keepOnly(endpoints);
      traffic.turns.keepOnly((name) => live.table.hasBackend(name));
    },
    shed: () => listeners.shed(),
    async close(signal) {
      await listeners.close(signal);
      traffic.endpoints.close();
      traffic.h2.close();
      deadlines.stop();
    },
    counts: () => ({ ...counts, byStatus: { ...counts.byStatus }, connections: listeners.connections }),
  };
}
