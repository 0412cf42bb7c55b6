import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { RunEvent } from '#protocol/event.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import type { Span, Tracer } from '#tracing/span.ts';
import type { Uplink } from './uplink.ts';

/** Events that end a task on a host. */
const ENDS: ReadonlySet<RunEvent['event']> = new Set(['ok', 'changed', 'failed', 'ignored', 'unreachable']);
const FAILURES: ReadonlySet<RunEvent['event']> = new Set(['failed', 'unreachable']);

/** Time in which a collector takes the last spans; the result of the run is not delayed further. */
const SPANS_MS = 2_000;

const newSpanId = (): string => randomBytes(8).toString('hex');

/**
 * Returns an uplink that also makes a span of the run, of each step, and of each task on a host. Spans have no output of
 * tasks.
 */
export function traced(uplink: Uplink, { trace, run, cluster }: RunSpec, tracer: Tracer): Uplink {
  if (!trace) return uplink;
  const { id: traceId, parent } = trace;
  const common = { 'matryoshka.cluster': `${cluster.namespace}/${cluster.name}`, 'matryoshka.job': run.job };
  const startMs = Date.now();
  const runSpanId = newSpanId();
  const span = (more: Omit<Span, 'traceId' | 'kind'>): void =>
    tracer.add({ traceId, kind: 'internal', ...more });
  let step: { name: string; spanId: string; startMs: number; isError: boolean } | undefined;
  let hasFailed = false;

  function endStep(endMs: number): void {
    if (step) span({ ...step, parentSpanId: runSpanId, endMs, attributes: common });
    step = undefined;
  }
  function see({ event, time, play, task, host, seconds }: RunEvent): void {
    const endMs = Date.parse(time);
    if (Number.isNaN(endMs)) return;
    if (event === 'play' || event === 'complete') endStep(endMs);
    if (event === 'play' && play !== undefined)
      step = { name: play, spanId: newSpanId(), startMs: endMs, isError: false };
    if (!ENDS.has(event) || host === undefined || seconds === undefined) return;
    const isError = FAILURES.has(event);
    if (step && isError) step.isError = true;
    hasFailed ||= isError;
    span({
      spanId: newSpanId(),
      parentSpanId: step?.spanId ?? runSpanId,
      name: task ?? play ?? event,
      startMs: endMs - seconds * 1000,
      endMs,
      attributes: { ...common, 'matryoshka.host': host, 'matryoshka.result': event },
      isError,
    });
  }
  return {
    ...uplink,
    send(event) {
      see(event);
      uplink.send(event);
    },
    async close(ms) {
      const endMs = Date.now();
      endStep(endMs);
      span({
        ...{ spanId: runSpanId, parentSpanId: parent, name: run.job, startMs, endMs },
        attributes: { ...common, 'matryoshka.attempt': run.attempt },
        isError: hasFailed,
      });
      const over = AbortSignal.timeout(Math.min(ms, SPANS_MS));
      await Promise.all([
        uplink.close(ms),
        Promise.race([tracer.close().catch(() => {}), once(over, 'abort')]),
      ]);
    },
  };
}
