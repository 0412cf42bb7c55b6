import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { ensureBinaries } from '#lab/artifacts/binaries.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';

/** The script that applies a user's manifests, run against a real API server. */
const ansible = join(import.meta.dirname, '../../ansible');
const WIDGETS = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true };
/** The object comes before its definition and its namespace, so only a later try can create it. */
const WRONG_WAY_ROUND = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: one, namespace: manifests}
spec: {size: 3}
---
apiVersion: v1
kind: Namespace
metadata: {name: manifests}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`;
const configMap = (value: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: default}\ndata: {text: "${value}"}\n`;

let dir: string;
let client: Client;
let binaries: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'manifests-'));
  await mkdir(join(dir, 'etc/matryoshka/installed'), { recursive: true });
  binaries = await ensureBinaries('kubernetes', ['kubectl'], () => {});
  client = createClient(await loadEndpoint({ kubeconfig: inject('kubeconfigPath') }), {
    userAgent: 'manifests',
  });
});
afterAll(async () => {
  await client.close();
  await rm(dir, { recursive: true, force: true });
});

/** Runs the script as host_script does, with shorter pauses. */
async function apply(...files: [name: string, text: string][]) {
  const read = (path: string) => readFile(join(ansible, path), 'utf8');
  const script = [
    await read('files/prelude.sh'),
    `export KUBECONFIG=${inject('kubeconfigPath')} PATH=${binaries}:$PATH KUBECACHEDIR=${dir}/cache`,
    // bash continues to count from the value that is assigned to SECONDS.
    'sleep() { SECONDS=$((SECONDS + $1)); command sleep 0.2; }',
    await read('roles/manifests/files/apply.sh'),
  ].join('\n');
  const lines = files.map(([name, text]) => `${name} ${gzipSync(text).toString('base64')}\n`);
  const env = { MANIFESTS: lines.join(''), MATRYOSHKA_ROOT: dir };
  return execa('bash', ['--norc', '-s'], {
    input: `main() {\n${script}\n}\nmain </dev/null\n`,
    env,
    reject: false,
  });
}

it('applies objects that precede their definition and namespace, and changes nothing the second time', async () => {
  const files: [string, string][] = [
    ['addons/widgets.yaml', WRONG_WAY_ROUND],
    ['addons/own.yaml', configMap('{{ mine }} $HOME `id`')],
  ];
  const { stdout, stderr, exitCode } = await apply(...files);
  expect([stderr, exitCode]).toEqual(['', 0]);
  expect(stdout).toBe('changed: manifests: 2 files');
  const widget = await client.get(WIDGETS, { namespace: 'manifests', name: 'one' });
  expect(widget).toMatchObject({ spec: { size: 3 } });
  const own = await client.get<ConfigMap>(CONFIG_MAPS, { namespace: 'default', name: 'own' });
  expect(own.data).toEqual({ text: '{{ mine }} $HOME `id`' });
  expect(await apply(...files)).toMatchObject({ stdout: '', exitCode: 0 });
});

it('reports the error of kubectl, and takes over no field of another manager', async () => {
  const wrong = await apply(['addons/wrong.yaml', `${configMap('x')}unheard: 1\n`]);
  expect(wrong.exitCode).toBe(1);
  expect(wrong.stderr).toMatch(/^addons\/wrong\.yaml: .*\.unheard: field not declared/);
  const mine = { metadata: { namespace: 'default', name: 'own' }, data: { text: 'theirs' } };
  await client.apply<ConfigMap>(CONFIG_MAPS, mine, { fieldManager: 'them', force: true });
  const taken = await apply(['addons/own.yaml', configMap('ours')]);
  expect(taken.exitCode).toBe(1);
  expect(taken.stderr).toMatch(/conflict with "them"|conflicts with "them"/);
  const own = await client.get<ConfigMap>(CONFIG_MAPS, { namespace: 'default', name: 'own' });
  expect(own.data).toEqual({ text: 'theirs' });
});
