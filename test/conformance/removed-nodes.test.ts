import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { CONFIG_MAPS } from '#api/core.ts';
import { ensureBinaries } from '#lab/artifacts/binaries.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import type { ConfigMap } from '#runtime/testing/test-namespace.ts';

/** The list of removed nodes, from which nodes disappear that cannot come back. */
const ansible = join(import.meta.dirname, '../../ansible');
const text = (path: string) => readFile(join(ansible, path), 'utf8');
const LIST = { namespace: 'kube-system', name: 'matryoshka-removed-nodes' };
const DAY_MS = 24 * 3_600_000;
const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().replace(/\.\d+Z$/, 'Z');

let client: Client;
let binaries: string;
let root: string;
beforeAll(async () => {
  client = createClient(await loadEndpoint({ kubeconfig: inject('kubeconfigPath') }), {
    userAgent: 'forget',
  });
  binaries = await ensureBinaries('kubernetes', ['kubectl'], () => {});
  root = await mkdtemp(join(tmpdir(), 'forget-'));
  await mkdir(join(root, 'etc/kubernetes/manifests'), { recursive: true });
});
afterAll(async () => {
  await client.close();
  await rm(root, { recursive: true });
});

/** Returns the names that remain in the list after hosts were reset. `flags` are those of the controller manager. */
async function left(data: Record<string, string>, reset: string, flags: string): Promise<string[]> {
  await writeFile(join(root, 'etc/kubernetes/manifests/kube-controller-manager.yaml'), `    - ${flags}\n`);
  const list: ConfigMap = { metadata: LIST, data };
  await client.apply(CONFIG_MAPS, list, { fieldManager: 'forget', force: true });
  await execa('bash', ['--norc', '-s'], {
    input: [
      await text('files/prelude.sh'),
      `export KUBECONFIG=${inject('kubeconfigPath')} PATH=${binaries}:$PATH KUBECACHEDIR=$(mktemp -d)`,
      await text('roles/drain/files/forget.sh'),
    ].join('\n'),
    env: { RESET: reset, MATRYOSHKA_ROOT: root },
  });
  const { data: now = {} } = await client.get<ConfigMap>(CONFIG_MAPS, LIST);
  // Other tests remove nodes too.
  return Object.keys(now)
    .filter((name) => name in data)
    .sort();
}

const NODES = { 'f-reset': ago(0), 'f-recent': ago(300), 'f-old': ago(400), 'f-garbled': 'x' };

it.each([
  ['a year, as kubeadm has it', '--leader-elect=true', ['f-garbled', 'f-recent']],
  ['two years', '--cluster-signing-duration=17520h', ['f-garbled', 'f-old', 'f-recent']],
  [
    'two years, of this signer',
    '--cluster-signing-kube-apiserver-client-duration=17520h0m0s',
    ['f-garbled', 'f-old', 'f-recent'],
  ],
  [
    'shorter now, which says nothing of certificates of before',
    '--cluster-signing-duration=24h',
    ['f-garbled', 'f-recent'],
  ],
  ['nobody can tell how long', '--cluster-signing-duration=1y', ['f-garbled', 'f-old', 'f-recent']],
])(
  'the list of removed nodes drops reset hosts and nodes with expired credentials: %s',
  async (_, flags, names) => {
    expect(await left(NODES, 'f-reset f-other', flags)).toEqual(names);
  },
);

it('an empty list of removed nodes stays empty', async () => {
  expect(await left({}, 'f-reset', '--leader-elect=true')).toEqual([]);
});
