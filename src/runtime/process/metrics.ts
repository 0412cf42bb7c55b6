import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ControllerObserver } from '../controller/controller.ts';

/** Prometheus metrics of the runtime, under the names that controller-runtime and client-go give them. */
export interface Metrics {
  readonly registry: Registry;
  /** Observes a controller, for `createController({observe})`: controller_runtime_* and workqueue_*. */
  controller(name: string, workers: number): ControllerObserver;
  /** Observes a client, for `createClient({observe})`: rest_client_requests_total and its duration. */
  client(host: string): (method: string, code: number | 'error', seconds: number) => void;
  /** Observes an informer, for `createInformer({observe})`: reflector_* of one kind. */
  informer(name: string): (event: 'list' | 'watch' | 'relist' | 'failure' | 'event') => void;
  /** Observes an election, for `createElection({observe})`: leader_election_master_status. */
  election(name: string): (leading: boolean) => void;
  /** Observes a certificate: certificate_expiry_timestamp_seconds. */
  expiry(name: string): (end: Date) => void;
}

const WORK_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const QUEUE_SECONDS = [10e-9, 10e-8, 10e-7, 10e-6, 10e-5, 10e-4, 10e-3, 10e-2, 0.1, 1, 10, 100, 1000];
const CALL_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/**
 * Creates the metrics. `defaults`: also those of the process (memory, event loop lag).
 * Source: controller-runtime pkg/internal/controller/metrics, pkg/metrics; component-base metrics/prometheus.
 */
export function createMetrics({ defaults = true }: { defaults?: boolean } = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (defaults) collectDefaultMetrics({ register: registry });
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]) =>
    new Histogram({ name, help, buckets, labelNames, registers });

  const reconciles = counter('controller_runtime_reconcile_total', 'Reconciles', 'controller', 'result');
  const errors = counter('controller_runtime_reconcile_errors_total', 'Failed reconciles', 'controller');
  const terminal = counter(
    'controller_runtime_terminal_reconcile_errors_total',
    'Reconciles that failed for good',
    'controller',
  );
  const time = histogram(
    'controller_runtime_reconcile_time_seconds',
    'Of a reconcile',
    WORK_SECONDS,
    'controller',
  );
  const active = gauge('controller_runtime_active_workers', 'Workers in a reconcile', 'controller');
  const most = gauge('controller_runtime_max_concurrent_reconciles', 'Workers', 'controller');
  const depth = gauge('workqueue_depth', 'Keys ready for work', 'name', 'controller');
  const adds = counter('workqueue_adds_total', 'Keys added', 'name', 'controller');
  const retries = counter('workqueue_retries_total', 'Keys added with backoff', 'name', 'controller');
  const waited = histogram(
    'workqueue_queue_duration_seconds',
    'Of a wait',
    QUEUE_SECONDS,
    'name',
    'controller',
  );
  const worked = histogram(
    'workqueue_work_duration_seconds',
    'Of the work',
    QUEUE_SECONDS,
    'name',
    'controller',
  );
  const calls = counter('rest_client_requests_total', 'Calls', 'code', 'method', 'host');
  const callTime = histogram(
    'rest_client_request_duration_seconds',
    'Of a call',
    CALL_SECONDS,
    'verb',
    'host',
  );
  const lists = counter('reflector_lists_total', 'Lists begun', 'name');
  const watches = counter('reflector_watches_total', 'Watches begun', 'name');
  const relists = counter('reflector_relists_total', 'Lists because a version was gone', 'name');
  const failures = counter('reflector_failures_total', 'Lists and watches that failed', 'name');
  const events = counter('reflector_events_total', 'Changes seen', 'name');
  const master = gauge('leader_election_master_status', '1 while leading', 'name');

  const ends = gauge('certificate_expiry_timestamp_seconds', 'End of a certificate', 'name');

  return {
    registry,
    controller(controller, workers) {
      const queue = { name: controller, controller };
      most.set({ controller }, workers);
      for (const result of ['success', 'error', 'requeue_after']) reconciles.inc({ controller, result }, 0);
      errors.inc({ controller }, 0);
      depth.set(queue, 0);
      return {
        added: () => adds.inc(queue),
        got: (seconds) => waited.observe(queue, seconds),
        done: (seconds) => worked.observe(queue, seconds),
        retried: () => retries.inc(queue),
        depth: (now) => depth.set(queue, now),
        active: (workersNow) => active.set({ controller }, workersNow),
        reconciled(result, seconds) {
          const failed = result === 'error' || result === 'terminal';
          reconciles.inc({ controller, result: failed ? 'error' : result });
          if (failed) errors.inc({ controller });
          if (result === 'terminal') terminal.inc({ controller });
          time.observe({ controller }, seconds);
        },
      };
    },
    client: (host) => (method, code, seconds) => {
      calls.inc({ code: code === 'error' ? '<error>' : String(code), method, host });
      callTime.observe({ verb: method, host }, seconds);
    },
    informer(name) {
      const counters = { list: lists, watch: watches, relist: relists, failure: failures, event: events };
      return (event) => counters[event].inc({ name });
    },
    expiry: (name) => (end) => ends.set({ name }, end.getTime() / 1000),
    election(name) {
      master.set({ name }, 0);
      return (leading) => master.set({ name }, leading ? 1 : 0);
    },
  };
}
