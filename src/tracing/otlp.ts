import { fetch } from 'undici';
import type { Clock } from '#base/clock.ts';
import { causeOf } from '#base/errors.ts';
import type { Span, Tracer } from './span.ts';

/** Sends spans as OTLP/HTTP with JSON (opentelemetry.io, OpenTelemetry Protocol Specification 1.x). */

const FLUSH_MS = 1_000;
const SEND_MS = 5_000;
/** Most spans that wait; further ones are dropped. */
const MAX_WAITING = 4_096;
/** Most spans of one message. */
const MAX_SENT = 512;

const KINDS = { internal: 1, server: 2 } as const;
const ERROR = 2;

type Value = { stringValue: string } | { doubleValue: number };
const attributesOf = (values: Span['attributes']): { key: string; value: Value }[] =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value },
  }));

/** Encodes a time in nanoseconds, which a double cannot hold. */
const nanosOf = (ms: number): string => (BigInt(Math.round(ms * 1000)) * 1000n).toString();

const encoded = ({ kind, name, startMs, endMs, attributes, isError, ...ids }: Span) => ({
  ...ids,
  name,
  kind: KINDS[kind],
  startTimeUnixNano: nanosOf(startMs),
  endTimeUnixNano: nanosOf(endMs),
  attributes: attributesOf(attributes),
  status: isError ? { code: ERROR } : {},
});

interface OtlpOptions {
  /** Base address of a collector: `http://collector:4318`. */
  endpoint: string;
  /** Name of this program: `matryoshka-server`. */
  service: string;
  clock: Clock;
  /** Says why spans are lost: once, until spans arrive again. */
  warn(message: string): void;
}

/** Returns a tracer. Work never waits for the collector: spans that it does not take in time are lost. */
export function otlpTracer({ endpoint, service, clock, warn }: OtlpOptions): Tracer {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const resource = { attributes: attributesOf({ 'service.name': service }) };
  const waiting: Span[] = [];
  let cancel: (() => void) | undefined;
  let sending: Promise<void> = Promise.resolve();
  let hasWarned = false;

  const lost = (reason: string): void => {
    if (!hasWarned) warn(`spans are lost: ${reason}`);
    hasWarned = true;
  };
  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const taken = waiting.splice(0, MAX_SENT);
      try {
        const spans = taken.map(encoded);
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'matryoshka' }, spans }] }],
          }),
          signal: AbortSignal.timeout(SEND_MS),
        });
        await response.text();
        if (response.ok) hasWarned = false;
        else lost(`${url} answers ${response.status}`);
      } catch (error) {
        lost(`${url} does not answer: ${causeOf(error)}`);
      }
    }
  }
  const flush = (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    sending = sending.then(send);
    return sending;
  };
  return {
    add(span) {
      if (waiting.length >= MAX_WAITING) return lost('too many wait');
      waiting.push(span);
      cancel ??= clock.after(FLUSH_MS, () => void flush());
    },
    close: flush,
  };
}
