import { execa } from 'execa';
import { expect, it } from 'vitest';
import { createAuthority, createServerCertificate } from './certificates.ts';
import { plainPair, problemOfPair } from './server-pair.ts';

it('accepts a pair that servers can use', async () => {
  const pair = await createServerCertificate(await createAuthority(), ['a.example'], []);
  expect(problemOfPair(pair)).toBeUndefined();
});

it('refuses a key that is too short for servers', async () => {
  const { stdout } = await execa('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:1024', '-nodes', '-days', '1', '-subj', '/CN=weak.example'],
    ...['-keyout', '-', '-out', '-'],
  ]);
  const [key, cert] = stdout.split(/(?=-----BEGIN CERTIFICATE-----)/);
  expect(problemOfPair({ cert, key })).toContain('too short');
});

it('keeps only the certificates and the key of a pair', async () => {
  const authority = await createAuthority();
  const pair = await createServerCertificate(authority, ['a.example'], []);
  const noisy = {
    cert: `${authority.key}\n\nshow info\n${pair.cert}\n\n${authority.cert}`,
    key: `\n${pair.key}\n\n`,
  };
  const plain = plainPair(noisy);
  expect(plain.cert.match(/BEGIN/g)).toHaveLength(2);
  expect(plain.cert + plain.key).not.toMatch(/\n\n|show info/);
  expect(problemOfPair(noisy)).toBeUndefined();
});

it('refuses a chain that is too long for HAProxy', async () => {
  const pair = await createServerCertificate(await createAuthority(), ['a.example'], []);
  expect(problemOfPair({ ...pair, cert: `${pair.cert}\n`.repeat(40) })).toContain(
    'more than 15000 characters',
  );
});
