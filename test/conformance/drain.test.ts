import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, it } from 'vitest';
import type { KubeObject, Resource } from '#api/meta.ts';
import { ensureBinaries } from '#lab/artifacts/binaries.ts';
import { createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';

/** The script that removes nodes, run against a real API server. */
const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const ansible = join(import.meta.dirname, '../../ansible');
const text = (path: string) => readFile(join(ansible, path), 'utf8');

it('removes a node only if it has the address of the leaving host', async () => {
  const kubeconfig = inject('kubeconfigPath');
  const binaries = await ensureBinaries('kubernetes', ['kubectl'], () => {});
  const client = createClient(await loadEndpoint({ kubeconfig }), { userAgent: 'drain' });
  const node = async (name: string, ...ips: string[]) => {
    const made = await client.create<KubeObject>(NODES, { metadata: { name } });
    const status = { addresses: ips.map((address) => ({ type: 'InternalIP', address })) };
    await client.updateStatus<KubeObject & { status: unknown }>(NODES, { ...made, status });
  };
  const names = ['drain-kept', 'drain-leaves', 'drain-beside'];
  await Promise.all(names.map((name, index) => node(name, `10.250.9.${index + 1}`, `fd00:9::${index + 1}`)));
  const script = [
    await text('files/prelude.sh'),
    `export KUBECONFIG=${kubeconfig} PATH=${binaries}:$PATH KUBECACHEDIR=$(mktemp -d)`,
    await text('roles/drain/files/evict.sh'),
    await text('roles/drain/files/drain.sh'),
  ].join('\n');
  const { stdout } = await execa('bash', ['--norc', '-s'], {
    input: script,
    env: {
      UNDONE: 'no node was removed',
      DENY: await text('roles/drain/files/deny.yaml'),
      DRAIN_SECONDS: '10',
      DRAIN_FORCE: 'false',
      DRAIN_DELETE_EMPTYDIR_DATA: 'false',
      LEAVING:
        '10.250.9.99 drain-kept unreached\n10.250.9.2 drain-leaves unreached\n10.250.9.98 drain-never unreached\n',
    },
  });
  const left = await Promise.all(
    names.map((name) => client.find<KubeObject>(NODES, { namespace: '', name })),
  );
  expect(left.map((one) => one?.metadata.name)).toEqual(['drain-kept', undefined, 'drain-beside']);
  expect(stdout).toContain('node drain-kept has the address 10.250.9.1 fd00:9::1, not 10.250.9.99; it stays');
  for (const address of ['10.250.9.99', '10.250.9.2', '10.250.9.98'])
    expect(stdout).toContain(`did: left ${address}`);
  const denied = await execa(join(binaries, 'kubectl'), [
    ...['--kubeconfig', kubeconfig, '-n', 'kube-system', 'get', 'configmap', 'matryoshka-removed-nodes'],
    ...['-o', 'jsonpath={.data}'],
  ]);
  const refused = Object.keys(JSON.parse(denied.stdout));
  // Other tests have removed nodes too.
  expect(refused).toEqual(expect.arrayContaining(['drain-leaves', 'drain-never']));
  expect(refused).not.toContain('drain-kept');
  await client.close();
});
