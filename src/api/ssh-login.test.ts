import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { keyPair } from '#base/testing/key-pair.ts';
import { secretData } from './core.ts';
import { sshLoginIn } from './ssh-login.ts';

const { private: key } = keyPair();
const login = (texts: Record<string, string>) => sshLoginIn({ metadata: {}, data: secretData(texts) });

it('accepts a key with Windows line ends and a username with a trailing newline', () => {
  const windows = { 'ssh-privatekey': key.replaceAll('\n', '\r\n'), username: 'ops\n' };
  expect(login(windows)).toMatchObject({ username: 'ops', privateKey: `${key.trim()}\n` });
});

it('logs in as root without a username, and needs no key beside a password', () => {
  expect(login({ username: '\n', password: 'open sesame\n' })).toEqual({
    username: 'root',
    privateKey: undefined,
    password: 'open sesame',
  });
});

it('explains how to convert a PKCS#8 key', () => {
  const pkcs8 = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const read = login({ 'ssh-privatekey': pkcs8, password: 'open sesame' });
  expect(read).toEqual({ reason: expect.stringMatching(/^ssh-privatekey is in PKCS#8; .*ssh-keygen/) });
});
