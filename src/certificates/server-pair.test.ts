import { execa } from 'execa';
import { expect, it } from 'vitest';
import { createAuthority, createServerCertificate } from './certificates.ts';
import { problemOfPair } from './server-pair.ts';

it('a pair that servers can show has no problem', async () => {
  const pair = await createServerCertificate(await createAuthority(), ['a.example'], []);
  expect(problemOfPair(pair)).toBeUndefined();
});

it('a key that is too short for servers is one', async () => {
  const { stdout } = await execa('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:1024', '-nodes', '-days', '1', '-subj', '/CN=weak.example'],
    ...['-keyout', '-', '-out', '-'],
  ]);
  const [key, cert] = stdout.split(/(?=-----BEGIN CERTIFICATE-----)/);
  expect(problemOfPair({ cert, key })).toContain('too short');
});
