import { sha256 } from '#base/canonical.ts';

/**
 * Part of a trace (opentelemetry.io, Traces). Programs that never meet make spans of one trace: its id and those of the
 * spans above follow from the ids of the request and of the operation.
 */
export interface Span {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  parentSpanId?: string | undefined;
  name: string;
  kind: 'server' | 'internal';
  /** Milliseconds since 1970. */
  startMs: number;
  endMs: number;
  attributes: Readonly<Record<string, string | number>>;
  /** Whether it failed. */
  isError: boolean;
}

/** Takes finished spans. */
export interface Tracer {
  add(span: Span): void;
  /** Sends what is left, for a bounded time. */
  close(): Promise<void>;
}

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

/** Ids of a span: its trace, itself, and the span above. */
type Place = Pick<Span, 'traceId' | 'spanId' | 'parentSpanId'>;

const traceIdOf = (id: string): string => sha256(`trace ${id}`).slice(0, TRACE_DIGITS);
const spanIdOf = (what: 'request' | 'operation', id: string): string =>
  sha256(`${what} ${id}`).slice(0, SPAN_DIGITS);

/** Returns the place of a REST request, the first span of its trace. */
export const placeOfRequest = (requestId: string): Place => ({
  traceId: traceIdOf(requestId),
  spanId: spanIdOf('request', requestId),
});

/** Form of the ids that the server gives to requests: a UUID, or that of a request with a key. */
const OF_REST = /^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * Returns the place of an operation: below its REST request, or first if there was none. A deletion has the id of the request
 * before it.
 */
export function placeOfOperation({
  id,
  name,
  requestId,
}: {
  id: string;
  name: string;
  requestId: string;
}): Place {
  const byRest = name !== 'delete' && OF_REST.test(requestId);
  return {
    traceId: traceIdOf(byRest ? requestId : id),
    spanId: spanIdOf('operation', id),
    ...(byRest ? { parentSpanId: spanIdOf('request', requestId) } : {}),
  };
}
