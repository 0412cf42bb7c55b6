import { describe, expect, it } from 'vitest';
import type { Kubeadm } from '#api/kubeadm.ts';
import { kubeadmSchema } from '#api/kubeadm.ts';
import { kubeadmProblems } from './validate-kubeadm.ts';

const problemsOf = (kubeadm: Kubeadm) =>
  kubeadmProblems({ cluster: { kubeadm: kubeadmSchema.parse(kubeadm) } }).map(
    ({ field, reason }) => `${field.replace('spec.cluster.kubeadm.', '')}: ${reason}`,
  );

describe('names in certificates', () => {
  it.each(['api.example.com', '*.example.com', '192.0.2.1', '2001:db8::1', 'a'])('%s is accepted', (name) => {
    expect(problemsOf({ certSANs: [name] })).toEqual([]);
  });

  it.each(['', 'https://a', 'a b', 'a.*.com', 'A_b', '{{ lookup("env") }}', '-a'])(
    '%j is refused',
    (name) => {
      expect(problemsOf({ certSANs: ['a', name] })).toEqual([
        expect.stringMatching(/^certSANs\[1\]: is neither a DNS name nor an IP address/),
      ]);
    },
  );
});

describe('the configuration of kubelets', () => {
  it('is accepted unchanged', () => {
    const kubelet = { maxPods: 200, evictionHard: { 'memory.available': '1Gi' }, readOnlyPort: 0 };
    expect(problemsOf({ kubelet })).toEqual([]);
  });

  it.each([
    ...['authentication', 'authorization', 'cgroupDriver', 'clusterDNS', 'clusterDomain', 'staticPodPath'],
    ...['staticPodURL', 'containerRuntimeEndpoint', 'apiVersion', 'kind', 'tlsCertFile', 'registerNode'],
  ])('may not set %s', (name) => {
    expect(problemsOf({ kubelet: { [name]: {} } })).toEqual([
      expect.stringMatching(new RegExp(`^kubelet\\.${name}: cannot be set: it .+`)),
    ]);
  });

  it('may not open an unauthenticated port', () => {
    expect(problemsOf({ kubelet: { readOnlyPort: 10255 } })[0]).toMatch(/^kubelet\.readOnlyPort: would show/);
  });

  it('may not contain templates, at any depth or in a name', () => {
    for (const kubelet of [{ a: [{ b: 'x {{ y' }] }, { '{% if': 1 }, { a: '{#' }])
      expect(problemsOf({ kubelet })).toEqual([expect.stringMatching(/^kubelet: holds/)]);
  });

  it('is limited to 16 KiB', () => {
    expect(problemsOf({ kubelet: { a: 'x'.repeat(20_000) } })).toEqual([
      'kubelet: is longer than 16 KiB as JSON; shorten it',
    ]);
  });
});
