import { createServer as createPlain, type Server } from 'node:net';
import { createServer } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { createAuthority, createServerCertificate } from './certificates.ts';
import { servedUntil } from './served-until.ts';

let server: Server | undefined;
afterEach(() => server?.close());

async function listen(one: Server): Promise<string> {
  server = one;
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  const address = one.address();
  return `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

it.each([
  ['that is valid', '2030-05-06T07:08:09.000Z'],
  ['that has expired', '2020-05-06T07:08:09.000Z'],
])('returns the end of a certificate %s', async (_what, end) => {
  const pair = await createServerCertificate(await createAuthority(), ['a'], [], {
    notBefore: new Date('2019-01-01'),
    notAfter: new Date(end),
  });
  const url = await listen(createServer(pair));
  expect((await servedUntil(url)).toISOString()).toBe(end);
});

it('rejects if the server speaks no TLS, or is away', async () => {
  const url = await listen(createPlain((socket) => socket.end('no')));
  await expect(servedUntil(url)).rejects.toThrow();
  server?.close();
  await expect(servedUntil(url)).rejects.toThrow();
});
