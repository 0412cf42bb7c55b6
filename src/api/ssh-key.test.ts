import { generateKeyPairSync } from 'node:crypto';
import ssh2 from 'ssh2';
import { describe, expect, it } from 'vitest';
import { keyPair } from '#base/testing/key-pair.ts';
import { readPrivateKey } from './ssh-key.ts';

const { private: ed25519, public: open } = keyPair();
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
  type: 'pkcs1',
  format: 'pem',
});
const locked = ssh2.utils.generateKeyPairSync('ed25519', {
  passphrase: 'x',
  cipher: 'aes256-ctr',
  rounds: 1,
}).private;
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('readPrivateKey', () => {
  it.each([
    ['OpenSSH', ed25519],
    ['PKCS#1', rsa.toString()],
    ['base64', base64(ed25519)],
    ['base64 in lines', base64(ed25519).replaceAll(/(.{64})/g, '$1\n')],
    ['the line ends of Windows', ed25519.replaceAll('\n', '\r\n')],
    ['no last line end', ed25519.trim()],
  ])('reads %s', (_what, text) => {
    expect(readPrivateKey(text)).toEqual({ pem: expect.stringMatching(/^-----BEGIN [^\r]*-----\n$/s) });
  });

  it.each([
    ['nonsense', 'sesame', /no private SSH key/],
    ['a public key', open, /no private SSH key/],
    ['a broken key', `${ed25519.slice(0, 120)}\n-----END OPENSSH PRIVATE KEY-----\n`, /no private SSH key/],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', /no private SSH key/],
    ['a locked key', locked, /passphrase/],
    [
      'PKCS#8',
      generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      /ssh-keygen/,
    ],
  ])('refuses %s', (_what, text, reason) => {
    const read = readPrivateKey(text);
    expect(read).toEqual({ reason: expect.stringMatching(reason) });
    expect(JSON.stringify(read)).not.toContain(text.slice(30, 60) || 'sesame');
  });
});
