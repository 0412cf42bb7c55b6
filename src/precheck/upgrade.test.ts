import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { upgrade } from './checks/upgrade.ts';
import { said } from './said.ts';
import { scriptOf, variablesOf } from './script.ts';
import { errorsOf, findingsOf, hostWith } from './testing/good-host.ts';

const ofUpgrade = (lines: readonly string[]) => {
  const host = hostWith(['@upgradeAsked yes', '@kubelet a v1.34.4', ...lines], {
    role: 'present',
    isMaster: true,
    upgradeTo: 'v1.35.4',
  });
  const { errors = [], warnings = [] } = findingsOf(host).find(({ name }) => name === 'upgrade') ?? {};
  return [...errors, ...warnings];
};

describe('the check of an upgrade to v1.35.4', () => {
  it.each<[string, string]>([
    [
      '@kubelet b v1.31.9',
      'node b has the kubelet v1.31.9, which does not work with v1.35.4; upgrade it first',
    ],
    [
      '@deprecatedApi group="a.k8s.io",removed_release="1.35",resource="things",subresource="",version="v1beta1"',
      'clients use a.k8s.io/v1beta1 things, which Kubernetes 1.35 no longer serves; change these clients first',
    ],
    [
      '@budget default/db 2 2',
      'PodDisruptionBudget default/db allows no eviction, so workers with its pods cannot be drained',
    ],
    ['@apiServiceDown v1.metrics', 'APIService v1.metrics is not available'],
    [
      '@webhookDown deny.example.com default/deny',
      'webhook deny.example.com has no ready endpoint in Service default/deny, and its failurePolicy is Fail; the API server refuses what it should check',
    ],
    [
      '@etcdBytes 2050000000',
      'etcd has 1.9 GiB of data, and refuses writes beyond its quota (2 GiB by default); compact and defragment it',
    ],
  ])('reports %s', (line, message) => {
    expect(ofUpgrade([line])).toEqual([message]);
  });

  it.each([
    '@kubelet b v1.32.0',
    '@deprecatedApi group="",removed_release="1.36",resource="things",version="v1"',
    '@deprecatedApi group="",removed_release="",resource="endpoints",version="v1"',
    '@budget default/db 2 1',
    '@budget default/none 0 0',
    '@etcdBytes 1.2e+06',
  ])('does not report %s', (line) => {
    expect(ofUpgrade([line])).toEqual([]);
  });

  it('refuses a host with too little space, only for an upgrade', () => {
    const small = ['@disk 100000000 2000000'];
    expect(errorsOf(hostWith(small, { role: 'present', upgradeTo: 'v1.35.4' }))).toEqual(['upgrade-disk']);
    expect(errorsOf(hostWith(small, { role: 'present' }))).toEqual([]);
  });
});

/** Answers of kubectl, by words of its arguments. */
const KUBECTL = `#!/bin/sh
case "$*" in
*metrics*) printf 'apiserver_requested_deprecated_apis{group="g",removed_release="1.35",version="v1"} 1\\napiserver_requested_deprecated_apis{group="h"} 0\\napiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 4.2e+06\\nother 1\\n' ;;
*'get nodes'*) printf '@kubelet a v1.34.4\\n' ;;
*apiservices*) printf 'v1. True\\nv1.metrics False\\n' ;;
*poddisruptionbudgets*) printf '@budget default/db 2 2\\n' ;;
*endpointslices*) printf 'ready default/good true\\nready default/bad false\\n' ;;
*validating*) printf 'hook Fail good.example.com default/good\\nhook Fail bad.example.com default/bad\\nhook Ignore ignored.example.com default/bad\\nhook Fail url.example.com /\\n' ;;
esac
`;

it('asks one control plane, by kubectl', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kubectl-'));
  try {
    await writeFile(join(folder, 'kubectl'), KUBECTL);
    await chmod(join(folder, 'kubectl'), 0o755);
    const asked = async (ip: string) => {
      const host = (at: string) => ({
        name: at,
        ip: at,
        role: 'present' as const,
        clusterId: 'c',
        isMaster: true,
        upgradeTo: 'v1.35.4',
      });
      const input =
        variablesOf([upgrade], host(ip), [host('10.0.0.1'), host('10.0.0.2')]) + scriptOf([upgrade], {});
      const env = { PATH: `${folder}:${process.env['PATH']}` };
      return said((await execa('sh', ['-s'], { input, env })).stdout);
    };
    const first = await asked('10.0.0.1');
    expect(first.all('deprecatedApi')).toEqual(['group="g",removed_release="1.35",version="v1"']);
    expect(first.number('etcdBytes')).toBe(4_200_000);
    expect(first.all('kubelet')).toEqual(['a v1.34.4']);
    expect(first.all('apiServiceDown')).toEqual(['v1.metrics']);
    expect(first.all('budget')).toEqual(['default/db 2 2']);
    expect(first.all('webhookDown')).toEqual(['bad.example.com default/bad']);
    expect((await asked('10.0.0.2')).has('kubelet')).toBe(false);
  } finally {
    await rm(folder, { recursive: true });
  }
});
