import { createServer as createPlain, type Server } from 'node:net';
import { createServer } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { createAuthority, createServerCertificate } from './certificates.ts';
import { firstEnd, servedUntil } from './served-until.ts';

const servers: Server[] = [];
const close = () => {
  for (const server of servers.splice(0)) server.close();
};
afterEach(close);

async function listen(one: Server): Promise<string> {
  servers.push(one);
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  const address = one.address();
  return `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

const until = async (end: string) =>
  listen(
    createServer(
      await createServerCertificate(await createAuthority(), ['a'], [], {
        notBefore: new Date('2019-01-01'),
        notAfter: new Date(end),
      }),
    ),
  );

it.each([
  ['that is valid', '2030-05-06T07:08:09.000Z'],
  ['that has expired', '2020-05-06T07:08:09.000Z'],
])('returns the end of a certificate %s', async (_what, end) => {
  expect((await servedUntil(await until(end))).toISOString()).toBe(end);
});

it('returns the first end among the servers that answer', async () => {
  const [late, early] = [await until('2031-01-01T00:00:00.000Z'), await until('2030-01-01T00:00:00.000Z')];
  const away = 'https://127.0.0.1:1';
  expect((await firstEnd([late, early, away])).toISOString()).toBe('2030-01-01T00:00:00.000Z');
  await expect(firstEnd([away])).rejects.toThrow(`none of ${away} shows a certificate`);
});

it('rejects if the server speaks no TLS, or is away', async () => {
  const url = await listen(createPlain((socket) => socket.end('no')));
  await expect(servedUntil(url)).rejects.toThrow();
  close();
  await expect(servedUntil(url)).rejects.toThrow();
});
