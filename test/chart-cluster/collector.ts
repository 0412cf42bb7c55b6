import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';

/** A collector of traces, as OpenTelemetry's: it takes OTLP/HTTP with JSON, and keeps the spans. */

const spanSchema = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
});
const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({
        attributes: z.array(z.object({ key: z.string(), value: z.looseObject({ stringValue: z.string() }) })),
      }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
});

type ReceivedSpan = z.output<typeof spanSchema> & {
  /** Name of the program, such as `matryoshka-server`. */
  service: string | undefined;
};

const WAIT_SECONDS = 60;

export interface Collector extends Disposable {
  port: number;
  /** Returns the spans of the path from that span up to the first one of its trace, once they are there. */
  pathOf(service: string, name: string): Promise<readonly ReceivedSpan[]>;
}

export async function startCollector(): Promise<Collector> {
  const spans = new Map<string, ReceivedSpan>();
  const take = (body: unknown): void => {
    const { resourceSpans } = exportSchema.parse(body);
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue;
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.set(span.spanId, { ...span, service });
    }
  };
  const server = createServer((request, response) => {
    const answer = (code: number, text: string) =>
      response.writeHead(code, { 'content-type': 'application/json' }).end(text);
    json(request)
      .then(take)
      .then(
        () => answer(200, '{}'),
        (error: unknown) => answer(400, JSON.stringify({ message: messageOf(error) })),
      );
  });
  server.listen(0);
  await once(server, 'listening');
  const address = server.address();

  const upFrom = (span: ReceivedSpan): ReceivedSpan[] | undefined => {
    if (span.parentSpanId === undefined) return [span];
    const parent = spans.get(span.parentSpanId);
    const above = parent && upFrom(parent);
    return above && [span, ...above];
  };
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    async pathOf(service, name) {
      for (let tries = 0; tries < WAIT_SECONDS; tries += 1) {
        for (const span of spans.values()) {
          const path = span.service === service && span.name.endsWith(name) ? upFrom(span) : undefined;
          if (path) return path;
        }
        await sleep(1_000);
      }
      const found = [...spans.values()].map((span) => `${span.service}: ${span.name}`);
      throw new Error(`no trace leads to "${name}" of ${service}; the spans are:\n${found.join('\n')}`);
    },
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
