import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readManifests } from './manifests.ts';
import { objectsOf } from './objects.ts';

const objects = objectsOf(readManifests(join(import.meta.dirname, '../../deploy/manifests')), {
  images: {
    'matryoshka/operator': 'registry/operator@sha256:1',
    'matryoshka/runner': 'registry/runner@sha256:2',
  },
  authority: 'the authority',
  site: { 'artifacts.json': '{}' },
  servedNamespaces: ['people'],
  snapshotsNode: 'first',
});
const named = (kind: string, name: string) =>
  objects.filter((object) => object.kind === kind && object.metadata.name === name);
const text = JSON.stringify(objects);

it('replaces placeholders with the images of the installation', () => {
  expect(JSON.stringify(named('Deployment', 'matryoshka-server'))).toContain('registry/operator@sha256:1');
  expect(JSON.stringify(named('Deployment', 'matryoshka-controller'))).toContain('registry/runner@sha256:2');
  expect(text).not.toContain('"matryoshka/operator"');
  expect(text).not.toContain('"matryoshka/runner"');
});

it('gives the certificate authority to Jobs and to every webhook', () => {
  expect(named('ConfigMap', 'matryoshka-ca')).toMatchObject([{ data: { 'ca.crt': 'the authority' } }]);
  const caBundle = Buffer.from('the authority').toString('base64');
  for (const kind of ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'])
    expect(named(kind, 'matryoshka')).toMatchObject([{ webhooks: [{ clientConfig: { caBundle } }] }]);
});

it('includes the site settings, and grants permissions in each served namespace', () => {
  expect(named('Namespace', 'people')).toHaveLength(1);
  expect(named('ConfigMap', 'matryoshka-site')).toMatchObject([{ data: { 'artifacts.json': '{}' } }]);
  const bindings = objects.filter(({ metadata }) => metadata.namespace === 'people');
  expect(bindings.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'RoleBinding matryoshka-controller',
    'RoleBinding matryoshka-server',
    'RoleBinding matryoshka-webhook',
  ]);
});

it('keeps snapshots on one node', () => {
  expect(JSON.stringify(named('PersistentVolume', 'matryoshka-snapshots'))).toMatch(
    /"nodeAffinity":.*"values":\["first"\]/,
  );
});

it('lists each object once, and namespaces before their contents', () => {
  const keys = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
  expect(new Set(keys).size).toBe(keys.length);
  const kinds = objects.map(({ kind }) => kind);
  expect(kinds.lastIndexOf('Namespace')).toBeLessThan(
    objects.findIndex(({ metadata }) => metadata.namespace),
  );
});
