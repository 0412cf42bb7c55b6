import { expect, it } from 'vitest';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { isOutdated, isUsable, kubeconfigIn, pointedAt } from './kubeconfig.ts';

it('reads no expiry from a kubeconfig without a certificate; an invalid one is missing', () => {
  expect(kubeconfigIn('users: [{name: a, user: {token: t}}]')).toEqual({ kind: 'present' });
  expect(kubeconfigIn('[]')).toEqual({ kind: 'missing' });
  const broken = 'users: [{name: a, user: {client-certificate-data: bm9uZQ==}}]';
  expect(kubeconfigIn(broken)).toEqual({ kind: 'missing' });
});

it('refuses a text that would be slow to parse', () => {
  const text = 'users: [{name: a, user: {token: t}}]\n';
  const keys = (count: number) => Array.from({ length: count }, (_, at) => `k${at}: 1\n`).join('');
  expect(kubeconfigIn(text + keys(100_000))).toEqual({ kind: 'missing' });
  expect(kubeconfigIn(`a: &a [x]\nb: [*a, *a]\n${text}`)).toEqual({ kind: 'missing' });
  // A check for duplicate keys would compare each key with all others.
  expect(kubeconfigIn(`users: []\n${text}`)).toEqual({ kind: 'present' });
});

it('calls an invalid or missing kubeconfig unusable', () => {
  const now = new Date();
  expect(isUsable('users: [{name: a, user: {token: t}}]', now)).toBe(true);
  expect(isUsable('{', now)).toBe(false);
  expect(isUsable(undefined, now)).toBe(false);
});

it('calls an expired kubeconfig unusable', async () => {
  const { cert } = await createServerCertificates();
  const data = Buffer.from(cert).toString('base64');
  const text = `users: [{name: a, user: {client-certificate-data: ${data}}}]`;
  const kubeconfig = kubeconfigIn(text);
  if (kubeconfig.kind !== 'present' || !kubeconfig.expires) throw new Error('it has no end');
  const end = kubeconfig.expires.getTime();
  expect(isUsable(text, new Date(end - 1_000))).toBe(true);
  expect(isUsable(text, new Date(end))).toBe(false);
});

it('is outdated after a renewal if the new certificate ends later', async () => {
  const { cert } = await createServerCertificates();
  const text = `users: [{name: a, user: {client-certificate-data: ${Buffer.from(cert).toString('base64')}}}]`;
  const fresh = kubeconfigIn(text);
  if (fresh.kind !== 'present' || !fresh.expires) throw new Error('it has no end');
  const now = new Date();
  const kept = (ms: number) => ({
    kind: 'present' as const,
    expires: new Date((fresh.expires?.getTime() ?? 0) + ms),
  });
  expect(isOutdated(kept(-1_000), text, now, true)).toBe(true);
  expect(isOutdated(kept(0), text, now, true)).toBe(false);
  expect(isOutdated(kept(1_000), text, now, true)).toBe(false);
  expect(isOutdated(kept(-1_000), text, now)).toBe(false);
});

it('changes only the address of a kubeconfig', () => {
  const text = (server: string) =>
    `# kept\nclusters: [{name: a, cluster: {server: "${server}"}}]\nusers: [{name: a, user: {token: t}}]\n`;
  expect(pointedAt(text('https://10.0.0.1:6443'), '10.0.0.2')).toBe(text('https://10.0.0.2:6443'));
  expect(pointedAt(text('https://[fd00::1]:6443'), 'fd00::2')).toBe(text('https://[fd00::2]:6443'));
  expect(pointedAt('users: [{name: a, user: {token: t}}]', '10.0.0.2')).toBeUndefined();
  expect(pointedAt('{', '10.0.0.2')).toBeUndefined();
});
