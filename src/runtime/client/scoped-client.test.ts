import { expect, it } from 'vitest';
import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { ApiError } from '../wire/api-error.ts';
import type { ApiRequest, Caller } from '../wire/call.ts';
import { clientOver } from './client.ts';
import { NotLeading, scopedClient } from './scoped-client.ts';

const THINGS: Resource = { group: 'x.io', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true };
const object: KubeObject = { metadata: { namespace: 'n', name: 'a', resourceVersion: '7' } };

function setUp(answer: unknown = object) {
  const requests: ApiRequest[] = [];
  const caller: Caller = {
    async call(request) {
      requests.push(request);
      return answer;
    },
    stream: () => Promise.reject(new Error('no streams')),
    close: async () => {},
  };
  return { requests, client: clientOver(caller) };
}

it('passes the signal to every call, and reports every write except dry runs', async () => {
  const { requests, client } = setUp();
  const { signal } = new AbortController();
  const written: (string | undefined)[] = [];
  const scoped = scopedClient(client, {
    signal,
    wrote: ({ metadata }) => written.push(metadata.resourceVersion),
  });
  await scoped.get(THINGS, { namespace: 'n', name: 'a' });
  await scoped.create(THINGS, object, { dryRun: true });
  await scoped.delete(THINGS, { namespace: 'n', name: 'a' }, { dryRun: true });
  expect(written).toEqual([]);
  await scoped.updateStatus(THINGS, object);
  await scoped.delete(THINGS, { namespace: 'n', name: 'a' });
  expect(written).toEqual(['7', '7']);
  expect(requests.every((request) => request.signal === signal)).toBe(true);
});

it('makes no write without leadership', async () => {
  const { requests, client } = setUp();
  const scoped = scopedClient(client, { mayWrite: () => false });
  await scoped.get(THINGS, { namespace: 'n', name: 'a' });
  for (const write of [
    () => scoped.create(THINGS, object),
    () => scoped.patch(THINGS, { namespace: 'n', name: 'a' }, {}, { type: 'merge' }),
    () => scoped.delete(THINGS, { namespace: 'n', name: 'a' }),
    () => scoped.request('POST', '/apis/x'),
  ]) {
    await expect(write()).rejects.toBeInstanceOf(NotLeading);
  }
  expect(requests).toHaveLength(1);
});

it('reports a deleted object as deleted, and a terminating one as written', async () => {
  const reported: string[] = [];
  const scope = {
    wrote: ({ metadata }: KubeObject) => reported.push(`wrote ${metadata.resourceVersion}`),
    deleted: (resource: Resource, key: ObjectKey, uid: string) =>
      reported.push(`deleted ${resource.plural} ${key.name} ${uid}`),
  };
  const key = { namespace: 'n', name: 'a' };
  const status = { kind: 'Status', status: 'Success', metadata: {}, details: { name: 'a', uid: 'u' } };
  const gone = scopedClient(setUp(status).client, scope);
  expect(await gone.delete(THINGS, key)).toEqual({ uid: 'u', object: undefined });
  await gone.delete(THINGS, key, { dryRun: true });
  const leaving = { ...object, metadata: { ...object.metadata, uid: 'u', deletionTimestamp: 'now' } };
  await scopedClient(setUp(leaving).client, scope).delete(THINGS, key);
  expect(reported).toEqual(['deleted things a u', 'wrote 7']);
});

it('reports an object that is already gone, by the uid from the cache', async () => {
  const reported: string[] = [];
  const scope = {
    deleted: (_resource: Resource, key: ObjectKey, uid: string) =>
      reported.push(`deleted ${key.name} ${uid}`),
    shown: (_resource: Resource, { name }: ObjectKey) => (name === 'late' ? 'u' : undefined),
  };
  const call = () => Promise.reject(new ApiError('NotFound', 'things "late" not found', { status: 404 }));
  const caller: Caller = { call, stream: call, close: async () => {} };
  const scoped = scopedClient(clientOver(caller), scope);
  for (const name of ['late', 'unknown'])
    await expect(scoped.delete(THINGS, { namespace: 'n', name })).rejects.toThrow('not found');
  expect(reported).toEqual(['deleted late u']);
});
