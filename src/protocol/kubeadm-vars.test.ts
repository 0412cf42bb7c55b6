import { expect, it } from 'vitest';
import { kubeadmVars } from './kubeadm-vars.ts';

it('sets variables only for given fields', () => {
  expect(kubeadmVars(undefined)).toEqual({});
  expect(kubeadmVars({})).toEqual({ made_with: expect.any(String) });
  expect(
    kubeadmVars({
      certSANs: ['a'],
      kubelet: { maxPods: 50 },
      encryptionAlgorithm: 'ECDSA-P256',
      encryptionAtRest: true,
      registryMirrors: [],
    }),
  ).toEqual({
    registry_mirrors: [],
    cert_sans: ['a'],
    kubelet_config: { maxPods: 50 },
    encryption_algorithm: 'ECDSA-P256',
    encryption_at_rest: true,
    made_with: expect.any(String),
  });
});

it('sets only the given fields of a proxy', () => {
  expect(JSON.stringify(kubeadmVars({ proxy: { httpProxy: 'http://p:1' } })['proxy'])).toBe(
    '{"http":"http://p:1"}',
  );
});

it('limits the audit log even if fields are omitted', () => {
  const policy = { rules: [{ level: 'Metadata' as const }] };
  expect(kubeadmVars({ audit: { policy, maxBackups: 2 } })).toMatchObject({
    audit_policy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...policy },
    audit_log: { maxage: 30, maxbackup: 2, maxsize: 100 },
  });
});

it('changes made_with only for settings that cannot be changed later', () => {
  const named = (kubeadm: Parameters<typeof kubeadmVars>[0]) => kubeadmVars(kubeadm)['made_with'];
  const one = named({ certSANs: ['a'], encryptionAtRest: true });
  expect(named({ encryptionAtRest: true, certSANs: ['a'] })).toBe(one);
  expect(named({ certSANs: ['b'], encryptionAtRest: true })).not.toBe(one);
  expect(named({ certSANs: ['a'] })).not.toBe(one);
  expect(named({ certSANs: ['a'], encryptionAtRest: true, encryptionAlgorithm: 'ECDSA-P256' })).not.toBe(one);
  const mirrored = [{ registry: 'docker.io', endpoints: ['https://m'] }];
  expect(named({ certSANs: ['a'], encryptionAtRest: true, registryMirrors: mirrored })).toBe(one);
});
