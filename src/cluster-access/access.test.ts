import 'reflect-metadata';
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509';
import { beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createAuthority } from '#lab/apiserver/certificates.ts';
import { accessIn } from './access.ts';

/** The user can edit the Secret. Whatever the user writes, it gives access to nothing but its own contents. */
const base64 = (text: string) => Buffer.from(text).toString('base64');
let ca: string;
let own: { cert: string; key: string };
let other: { cert: string; key: string };

beforeAll(async () => {
  const authority = await createAuthority();
  ca = authority.pem;
  [own, other] = [await authority.issue(), await authority.issue()];
});

const config = (cluster: Record<string, unknown>, user: Record<string, unknown>, more = {}) =>
  stringify({
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    ...more,
  });
const authority = () => ({ 'certificate-authority-data': base64(ca) });
const pair = () => ({ 'client-certificate-data': base64(own.cert), 'client-key-data': base64(own.key) });

it('reads authority, client certificate, key and token', () => {
  expect(accessIn(config(authority(), pair()))).toMatchObject({
    ca,
    ...own,
    certificateEnds: expect.any(Date),
  });
  expect(accessIn(config(authority(), { token: 'abc.def' }))).toEqual({ ca, token: 'abc.def' });
});

it('ignores server, server name, verification and proxy settings', () => {
  const hostile = {
    ...authority(),
    server: 'https://169.254.169.254',
    'tls-server-name': 'other',
    'insecure-skip-tls-verify': true,
    'proxy-url': 'http://proxy',
  };
  expect(accessIn(config(hostile, pair()))).toEqual(accessIn(config(authority(), pair())));
});

it.each<[string, () => string]>([
  ['a plugin', () => config(authority(), { exec: { command: 'touch', args: ['/tmp/planted'] } })],
  ['files', () => config({ 'certificate-authority': '/etc/ca' }, { tokenFile: '/etc/passwd' })],
  ['a file for the key', () => config(authority(), { 'client-certificate': '/a', 'client-key': '/b' })],
  ['no authority', () => config({ 'insecure-skip-tls-verify': true }, pair())],
  ['an authority that is none', () => config({ 'certificate-authority-data': base64('no') }, pair())],
  ['no credentials', () => config(authority(), {})],
  [
    'a key of another certificate',
    () => config(authority(), { ...pair(), 'client-key-data': base64(other.key) }),
  ],
  ['a token with a line break', () => config(authority(), { token: 'a\r\nhost: b' })],
  ['no current context', () => config(authority(), pair(), { 'current-context': 'b' })],
  ['a text that is far too long', () => `${config(authority(), pair())}#${'a'.repeat(70_000)}`],
  ['aliases that grow', () => `a: &a [1]\nb: &b [*a,*a,*a]\n${config(authority(), { token: '*b' })}`],
  ['no YAML', () => '{'],
  ['nothing', () => ''],
])('returns nothing for %s', (_, text) => {
  expect(accessIn(text())).toBeUndefined();
});

it('refuses a key that is too large', async () => {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', publicExponent: new Uint8Array([1, 0, 1]) };
  const made = async (modulusLength: number) => {
    const keys = await crypto.subtle.generateKey({ ...algorithm, modulusLength }, true, ['sign', 'verify']);
    const cert = await X509CertificateGenerator.createSelfSigned({ keys, signingAlgorithm: algorithm });
    const key = PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
    return { 'client-certificate-data': base64(cert.toString('pem')), 'client-key-data': base64(key) };
  };
  expect(accessIn(config(authority(), await made(2048)))).toBeDefined();
  expect(accessIn(config(authority(), await made(4104)))).toBeUndefined();
});
