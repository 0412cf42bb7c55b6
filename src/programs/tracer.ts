import { systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Service } from '#runtime/process/manager.ts';
import { otlpTracer } from '#tracing/otlp.ts';
import type { Tracer } from '#tracing/span.ts';

/** Returns a tracer for a collector; undefined without one. */
export const tracerOf = (endpoint: string | undefined, service: string, log: Logger): Tracer | undefined =>
  endpoint === undefined
    ? undefined
    : otlpTracer({ endpoint, service, clock: systemClock, warn: (message) => log.warn({}, message) });

/** Makes a program send its last spans before it ends. It stops after the services that follow it. */
export const lastSpansOf = (tracer: Tracer | undefined): Service[] =>
  tracer ? [{ name: 'traces', start: async () => {}, stop: () => tracer.close() }] : [];
