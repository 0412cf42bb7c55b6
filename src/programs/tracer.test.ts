import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { createManager } from '#runtime/process/manager.ts';
import { placeOfRequest } from '#tracing/span.ts';
import { lastSpansOf, tracerOf } from './tracer.ts';

const log = createLogger('silent');

it('sends the span of a request that was answered while the program stopped', async () => {
  const received: string[] = [];
  const collector = createServer(async (request, response) => {
    received.push(await text(request));
    response.end('{}');
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const address = collector.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const tracer = tracerOf(`http://127.0.0.1:${port}`, 'test', log);
  const server = {
    name: 'rest',
    start: async () => {},
    async stop() {
      const place = placeOfRequest('a'.repeat(32));
      tracer?.add({
        ...place,
        name: 'last',
        kind: 'server',
        startMs: 0,
        endMs: 1,
        attributes: {},
        isError: false,
      });
    },
  };
  await createManager({ servers: [...lastSpansOf(tracer), server], log }).run(AbortSignal.abort());
  collector.close();
  expect(received).toEqual([expect.stringContaining('"name":"last"')]);
});
