import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap, useNamespace } from '../testing/test-namespace.ts';
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from '../wire/api-error.ts';

const test = useNamespace('client');
const { namespace, key } = test;

describe('client', () => {
  it('creates, reads, updates, patches and deletes', async () => {
    const made = await test.client.create<ConfigMap>(CONFIG_MAPS, { metadata: key('a'), data: { x: '1' } });
    expect(made.metadata.uid).toBeTruthy();
    const updated = await test.client.update<ConfigMap>(CONFIG_MAPS, { ...made, data: { x: '2' } });
    expect(updated.data).toEqual({ x: '2' });
    const stale = test.client.update<ConfigMap>(CONFIG_MAPS, { ...made, data: { x: '3' } });
    await expect(stale).rejects.toSatisfy(isConflict);
    const patched = await test.client.patch<ConfigMap>(
      CONFIG_MAPS,
      key('a'),
      { data: { y: '1' } },
      { type: 'merge' },
    );
    expect(patched.data).toEqual({ x: '2', y: '1' });
    const wrongUid = test.client.delete(CONFIG_MAPS, key('a'), { preconditions: { uid: randomUUID() } });
    await expect(wrongUid).rejects.toSatisfy(isConflict);
    await test.client.delete(CONFIG_MAPS, key('a'), { preconditions: { uid: made.metadata.uid } });
    expect(await test.client.find(CONFIG_MAPS, key('a'))).toBeUndefined();
  });

  it('returns errors typed by reason', async () => {
    await test.client.create(CONFIG_MAPS, { metadata: key('b') });
    await expect(test.client.create(CONFIG_MAPS, { metadata: key('b') })).rejects.toSatisfy(isAlreadyExists);
    await expect(test.client.get(CONFIG_MAPS, key('absent'))).rejects.toSatisfy(isNotFound);
    const bad = await test.client
      .create(CONFIG_MAPS, { metadata: key('Not_A_Name') })
      .catch((error: unknown) => error);
    expect(isInvalid(bad) && bad.causes[0]?.field).toBe('metadata.name');
  });

  it('applies with a field manager, and keeps fields of other managers', async () => {
    await test.client.create<ConfigMap>(CONFIG_MAPS, { metadata: key('c'), data: { theirs: '1' } });
    const options = { fieldManager: 'test-apply' };
    const object: ConfigMap = { metadata: key('c'), data: { ours: '1' } };
    expect((await test.client.apply<ConfigMap>(CONFIG_MAPS, object, options)).data).toEqual({
      theirs: '1',
      ours: '1',
    });
    const grab: ConfigMap = { metadata: key('c'), data: { theirs: '2' } };
    await expect(test.client.apply(CONFIG_MAPS, grab, options)).rejects.toSatisfy(isConflict);
    const forced = await test.client.apply<ConfigMap>(CONFIG_MAPS, grab, { ...options, force: true });
    expect(forced.data).toEqual({ theirs: '2' });
  });

  it('writes nothing in a dry run', async () => {
    await test.client.create(CONFIG_MAPS, { metadata: key('d') }, { dryRun: true });
    expect(await test.client.find(CONFIG_MAPS, key('d'))).toBeUndefined();
  });

  it('lists in pages and gives items their kind', async () => {
    for (const name of ['p1', 'p2', 'p3']) {
      await test.client.create(CONFIG_MAPS, { metadata: { ...key(name), labels: { page: 'yes' } } });
    }
    const first = await test.client.list(CONFIG_MAPS, { namespace, labelSelector: 'page=yes', limit: 2 });
    expect(first.items.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ['ConfigMap', 'p1'],
      ['ConfigMap', 'p2'],
    ]);
    const rest = await test.client.list(CONFIG_MAPS, {
      namespace,
      labelSelector: 'page=yes',
      continue: first.metadata.continue,
    });
    expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(['p3']);
  });

  it('aborts a call with the reason of its signal, or with Timeout', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(test.client.list(CONFIG_MAPS, { signal: abort.signal })).rejects.toBe(reason);
    // The answer to a watch takes as long as the request says.
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const slow = test.client.request('GET', path, undefined, {
      query: { watch: true, timeoutSeconds: 20 },
      timeoutMs: 200,
    });
    await expect(slow).rejects.toMatchObject({ reason: 'Timeout' });
  });

  it('watches from a version, with bookmarks, until the server ends it', async () => {
    const { metadata } = await test.client.list(CONFIG_MAPS, { namespace });
    await test.client.create(CONFIG_MAPS, { metadata: key('w') });
    await test.client.delete(CONFIG_MAPS, key('w'));
    const events: string[] = [];
    await test.client.watch<ConfigMap>(
      CONFIG_MAPS,
      { namespace, resourceVersion: metadata.resourceVersion, timeoutSeconds: 1, allowWatchBookmarks: true },
      ({ type, object }) => events.push(`${type} ${object.metadata.name ?? ''}`),
    );
    expect(events.filter((event) => event !== 'BOOKMARK ')).toEqual(['ADDED w', 'DELETED w']);
  });
});
