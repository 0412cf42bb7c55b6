import Fastify from 'fastify';
import { expect, it } from 'vitest';
import type { Fields, Logger } from '#base/log.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { auditRequests } from './audit.ts';

it('writes 20 lines a second for requests without a user, and one that counts the others', async () => {
  const lines: [Fields, string | undefined][] = [];
  const nothing = (): void => {};
  const log: Logger = {
    debug: nothing,
    warn: (fields, message) => void lines.push([fields, message]),
    error: nothing,
    info: (fields, message) => void lines.push([fields, message]),
    child: () => log,
  };
  const clock = createManualClock();
  const app = Fastify();
  app.decorateRequest('person');
  auditRequests(app, log, clock);
  app.get('/known', async (request) => {
    request.person = { username: 'alice', groups: [], extra: {}, uid: '' };
    return 'ok';
  });
  app.get('/unknown', async (_request, reply) => reply.code(401).send());
  const ask = async (url: string, times: number) => {
    lines.length = 0;
    for (let asked = 0; asked < times; asked += 1) await app.inject(url);
    return lines.length;
  };
  expect(await ask('/unknown', 100)).toBe(20);
  expect(await ask('/known', 30)).toBe(30);
  lines.length = 0;
  await clock.advance(1_000);
  expect(lines).toEqual([[{ left: 80 }, 'audit lines of requests without a user are left out']]);
  expect(await ask('/unknown', 15)).toBe(15);
  await clock.advance(1_000);
  expect(await ask('/unknown', 25)).toBe(20);
  await app.close();
});
