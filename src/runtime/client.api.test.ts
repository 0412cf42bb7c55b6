import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { KubeObject, Resource } from '#api/meta.ts';
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from './api-error.ts';
import { type Client, createClient } from './client.ts';
import { loadEndpoint } from './kube-config.ts';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  immutable?: boolean;
}
const CONFIG_MAPS: Resource = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};
const NAMESPACES: Resource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};

let client: Client;
const namespace = `client-${randomUUID().slice(0, 8)}`;
const key = (name: string) => ({ namespace, name });

beforeAll(async () => {
  client = createClient(await loadEndpoint({ kubeconfig: inject('kubeconfigPath') }), { userAgent: 'test' });
  await client.create(NAMESPACES, { metadata: { name: namespace } });
});

afterAll(async () => {
  await client.delete(NAMESPACES, { namespace: '', name: namespace });
  await client.close();
});

describe('client', () => {
  it('creates, reads, updates, patches and deletes', async () => {
    const made = await client.create<ConfigMap>(CONFIG_MAPS, { metadata: key('a'), data: { x: '1' } });
    expect(made.metadata.uid).toBeTruthy();
    const updated = await client.update<ConfigMap>(CONFIG_MAPS, { ...made, data: { x: '2' } });
    expect(updated.data).toEqual({ x: '2' });
    const stale = client.update<ConfigMap>(CONFIG_MAPS, { ...made, data: { x: '3' } });
    await expect(stale).rejects.toSatisfy(isConflict);
    const patched = await client.patch<ConfigMap>(
      CONFIG_MAPS,
      key('a'),
      { data: { y: '1' } },
      { type: 'merge' },
    );
    expect(patched.data).toEqual({ x: '2', y: '1' });
    const wrongUid = client.delete(CONFIG_MAPS, key('a'), { preconditions: { uid: randomUUID() } });
    await expect(wrongUid).rejects.toSatisfy(isConflict);
    await client.delete(CONFIG_MAPS, key('a'), { preconditions: { uid: made.metadata.uid } });
    expect(await client.find(CONFIG_MAPS, key('a'))).toBeUndefined();
  });

  it('types its errors by meaning', async () => {
    await client.create(CONFIG_MAPS, { metadata: key('b') });
    await expect(client.create(CONFIG_MAPS, { metadata: key('b') })).rejects.toSatisfy(isAlreadyExists);
    await expect(client.get(CONFIG_MAPS, key('absent'))).rejects.toSatisfy(isNotFound);
    const bad = await client
      .create(CONFIG_MAPS, { metadata: key('Not_A_Name') })
      .catch((error: unknown) => error);
    expect(isInvalid(bad) && bad.causes[0]?.field).toBe('metadata.name');
  });

  it('applies with a field manager, and keeps what others own', async () => {
    await client.create<ConfigMap>(CONFIG_MAPS, { metadata: key('c'), data: { theirs: '1' } });
    const options = { fieldManager: 'test-apply' };
    const object: ConfigMap = { metadata: key('c'), data: { ours: '1' } };
    expect((await client.apply<ConfigMap>(CONFIG_MAPS, object, options)).data).toEqual({
      theirs: '1',
      ours: '1',
    });
    const grab: ConfigMap = { metadata: key('c'), data: { theirs: '2' } };
    await expect(client.apply(CONFIG_MAPS, grab, options)).rejects.toSatisfy(isConflict);
    const forced = await client.apply<ConfigMap>(CONFIG_MAPS, grab, { ...options, force: true });
    expect(forced.data).toEqual({ theirs: '2' });
  });

  it('writes nothing in a dry run', async () => {
    await client.create(CONFIG_MAPS, { metadata: key('d') }, { dryRun: true });
    expect(await client.find(CONFIG_MAPS, key('d'))).toBeUndefined();
  });

  it('lists in pages and gives items their kind', async () => {
    for (const name of ['p1', 'p2', 'p3']) {
      await client.create(CONFIG_MAPS, { metadata: { ...key(name), labels: { page: 'yes' } } });
    }
    const first = await client.list(CONFIG_MAPS, { namespace, labelSelector: 'page=yes', limit: 2 });
    expect(first.items.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ['ConfigMap', 'p1'],
      ['ConfigMap', 'p2'],
    ]);
    const rest = await client.list(CONFIG_MAPS, {
      namespace,
      labelSelector: 'page=yes',
      continue: first.metadata.continue,
    });
    expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(['p3']);
  });

  it('ends a call with the reason of its signal, and with Timeout of its own', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(client.list(CONFIG_MAPS, { signal: abort.signal })).rejects.toBe(reason);
    // A watch is an answer that takes as long as it was asked to.
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const slow = client.request('GET', path, undefined, {
      query: { watch: true, timeoutSeconds: 20 },
      timeoutMs: 200,
    });
    await expect(slow).rejects.toMatchObject({ reason: 'Timeout' });
  });

  it('watches from a version, with bookmarks, until the server ends it', async () => {
    const { metadata } = await client.list(CONFIG_MAPS, { namespace });
    await client.create(CONFIG_MAPS, { metadata: key('w') });
    await client.delete(CONFIG_MAPS, key('w'));
    const events: string[] = [];
    await client.watch<ConfigMap>(
      CONFIG_MAPS,
      { namespace, resourceVersion: metadata.resourceVersion, timeoutSeconds: 1, allowWatchBookmarks: true },
      ({ type, object }) => events.push(`${type} ${object.metadata.name ?? ''}`),
    );
    expect(events.filter((event) => event !== 'BOOKMARK ')).toEqual(['ADDED w', 'DELETED w']);
  });
});
