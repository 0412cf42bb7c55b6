import { beforeAll, describe, expect, it } from 'vitest';
import { PODS, VOLUME_CLAIMS } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { WORKSPACES, type Workspace, workspaceAnnotations } from '../api.ts';
import { lateClock } from '../testing/workspace-kubelet.fixture.ts';
import { useWorkspaces } from '../testing/workspace-world.fixture.ts';

/** Tests the status codes of failed calls, and that they leave nothing behind. */
const QUOTAS: Resource = {
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
};
const test = useWorkspaces();
const info = (name: string, more: object = {}) => ({
  name,
  namespace: test.namespace,
  image: 'registry.example/editor:1',
  port: 9999,
  ...more,
});
const query = (name: string) => ({ name, namespace: test.namespace });
const find = (name: string) => test.client.find<Workspace>(WORKSPACES, test.key(name));
const until = (probe: () => Promise<unknown>) => expect.poll(probe, { timeout: 15_000 });
const CREATE = 'createSpaceAndWaitForRunning';
const START = 'startSpaceAndWaitForRunning';
const stopped = (name: string, image = 'silent') =>
  test.client.create<Workspace>(WORKSPACES, {
    metadata: test.key(name),
    spec: { image, port: 1, running: false },
  });

/** The test writes the sums, because no quota controller runs. */
beforeAll(async () => {
  const spec = { hard: { 'requests.storage': '100Gi' } };
  await test.client.create<KubeObject & { spec: object }>(QUOTAS, { metadata: test.key('storage'), spec });
  const status = { hard: spec.hard, used: { 'requests.storage': '0' } };
  const by = { type: 'merge', subresource: 'status' } as const;
  await test.client.patch(QUOTAS, test.key('storage'), { status }, by);
});

describe('a call is refused, and creates nothing,', () => {
  it.each([
    ['without a token', ''],
    ['with one that is nobody’s', 'nobodys'],
    ['with one that is none', 'a b'],
  ])('%s', async (_how, token) => {
    for (const method of [CREATE, START, 'getPodSpaceStatus', 'deleteSpace'])
      expect(await test.call(method, info('unknown'), { token })).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(await find('unknown')).toBeUndefined();
  });

  it.each([
    [CREATE, 'create'],
    ['deleteSpace', 'delete'],
    ['getPodSpaceStatus', 'get'],
    ['getPodSpaceInfo', 'get'],
    [START, 'update'],
    ['stopSpace', 'update'],
    ['keepSpace', 'update'],
  ])('%s without permission to %s', async (method, verb) => {
    const name = `right-${method.toLowerCase().slice(0, 40)}`;
    const { uid, resourceVersion } = (await stopped(name)).metadata;
    const others = ['get', 'list', 'create', 'update', 'delete'].filter((one) => one !== verb);
    const token = await test.tokenFor(others);
    const there = await test.call(method, info(name), { token });
    expect(there).toMatchObject({ code: 'PERMISSION_DENIED', details: expect.stringContaining(verb) });
    const missing = await test.call(method, info(name.replace('right', 'wrong')), { token });
    expect(missing.details).toBe(there.details.replace('right', 'wrong'));
    expect(await find(name.replace('right', 'wrong'))).toBeUndefined();
    expect((await find(name))?.metadata.uid).toBe(uid);
    expect((await find(name))?.spec.running).toBe(false);
    expect(resourceVersion).toBeDefined();
  });

  it.each<[string, object]>([
    ['name', { name: '' }],
    ['name', { name: 'Upper_Case' }],
    ['name', { name: 'x'.repeat(64) }],
    ['namespace', { namespace: '' }],
    ['image', { image: '' }],
    ['image', { image: '--a b' }],
    ['port', { port: 0 }],
    ['port', { port: 70_000 }],
    ['resourceLimit.cpu', { resourceLimit: { cpu: 'many' } }],
    ['resourceLimit.Memory', { resourceLimit: { Memory: '-1Gi' } }],
    ['resourceLimit.Storage', { resourceLimit: { Storage: '0' } }],
  ])('for a wrong %s (%j)', async (field, wrong) => {
    const { code, details } = await test.call(CREATE, info('refused', wrong));
    expect([code, details]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(`${field}:`)]);
    expect(await find('refused')).toBeUndefined();
  });

  it('for a name that is taken, whose workspace stays', async () => {
    const before = await stopped('taken');
    expect(await test.call(CREATE, info('taken'))).toMatchObject({ code: 'ALREADY_EXISTS' });
    expect((await find('taken'))?.metadata.uid).toBe(before.metadata.uid);
  });
});

describe('a workspace that cannot run ends its call, and is removed', () => {
  /** Checks that the Workspace is gone. The garbage collector would remove its pods and volumes. */
  const gone = async (name: string) => {
    expect(await find(name)).toBeUndefined();
    for (const kind of [PODS, VOLUME_CLAIMS]) {
      const owners = (await test.client.find(kind, test.key(name)))?.metadata.ownerReferences;
      expect(owners?.map((owner) => owner.kind) ?? ['Workspace']).toEqual(['Workspace']);
    }
  };

  it.each<[string, string, string, RegExp]>([
    ['an image that is not there', 'unpullable', 'FAILED_PRECONDITION', /ImageNotPulled: .*no such manifest/],
    ['an image that cannot be', 'misnamed', 'INVALID_ARGUMENT', /InvalidImage: /],
    ['an editor that crashes', 'crashing', 'FAILED_PRECONDITION', /Crashes: /],
    ['a pod that is evicted', 'evicted', 'FAILED_PRECONDITION', /PodFailed: Evicted: .*memory/],
    ['no node for it', 'homeless', 'UNAVAILABLE', /Unschedulable: 0\/1 nodes/],
  ])('for %s', async (_what, image, code, says) => {
    const answered = await test.call(CREATE, info(image, { image }), { withinMs: 30_000 });
    expect(answered).toMatchObject({ code, details: expect.stringMatching(says) });
    await gone(image);
  });

  it('for a quota', async () => {
    const resourceLimit = { Storage: '200Gi' };
    const answered = await test.call(CREATE, info('quota', { resourceLimit }));
    expect(answered).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      details: expect.stringMatching(/QuotaExceeded: .*exceeded quota: storage/),
    });
    await gone('quota');
  });

  it('for a foreign pod of that name, which stays', async () => {
    const containers = [{ name: 'theirs', image: 'x' }];
    const theirs: KubeObject & { spec: object } = { metadata: test.key('theirs'), spec: { containers } };
    const { uid } = (await test.client.create(PODS, theirs)).metadata;
    expect(await test.call(CREATE, info('theirs'))).toMatchObject({
      code: 'ALREADY_EXISTS',
      details: expect.stringContaining('Pod "theirs" has another owner'),
    });
    expect(await find('theirs')).toBeUndefined();
    expect((await test.client.get(PODS, test.key('theirs'))).metadata.uid).toBe(uid);
  });

  it('at its deadline, with the reason', async () => {
    const answered = await test.call(CREATE, info('late', { image: 'silent' }), { withinMs: 3_000 });
    expect(answered).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      details: expect.stringContaining('waits until the editor listens'),
    });
    await until(() => find('late')).toBeUndefined();
  });

  it('if the caller cancels', async () => {
    const going = new AbortController();
    const call = test.call(CREATE, info('left', { image: 'silent' }), { signal: going.signal });
    await until(() => find('left')).toBeDefined();
    going.abort();
    expect(await call).toMatchObject({ code: 'CANCELLED' });
    await until(() => find('left')).toBeUndefined();
  });

  it('if a user deletes it', async () => {
    const call = test.call(CREATE, info('removed', { image: 'silent' }));
    await until(() => find('removed')).toBeDefined();
    await test.client.delete(WORKSPACES, test.key('removed'));
    expect(await call).toMatchObject({ code: 'ABORTED' });
  });

  it('though its server died', async () => {
    const annotations = {
      [workspaceAnnotations.awaitedUntil]: new Date(lateClock.now().getTime() + 1_500).toISOString(),
    };
    await test.client.create<Workspace>(WORKSPACES, {
      metadata: { ...test.key('orphan'), annotations },
      spec: { image: 'silent', port: 1 },
    });
    await until(() => find('orphan')).toBeUndefined();
  });
});

describe('a workspace that a call waits for', () => {
  const annotationsOf = async (name: string) => (await find(name))?.metadata.annotations ?? {};

  it.each([
    ['started', START],
    ['stopped', 'stopSpace'],
    ['used', 'keepSpace'],
  ])('stays once it was %s by another call, though its server died', async (name, method) => {
    const awaitedUntil = new Date(lateClock.now().getTime() + 600_000).toISOString();
    const annotations = {
      [workspaceAnnotations.awaitedUntil]: awaitedUntil,
      [workspaceAnnotations.askedBy]: 'one that died',
    };
    await test.client.create<Workspace>(WORKSPACES, {
      metadata: { ...test.key(name), annotations },
      spec: { image: 'editor', port: 1 },
    });
    expect((await test.call(method, query(name))).code).toBe('OK');
    const { [workspaceAnnotations.activeAt]: _used, ...rest } = await annotationsOf(name);
    expect(rest).toEqual({});
  });

  it.each([
    ['wanted', 'keepSpace', 'DEADLINE_EXCEEDED'],
    ['halted', 'stopSpace', 'ABORTED'],
  ])('stays %s if another call did that during the creation', async (name, method, code) => {
    const call = test.call(CREATE, info(name, { image: 'silent' }), { withinMs: 3_000 });
    await until(() => find(name)).toBeDefined();
    expect((await test.call(method, query(name))).code).toBe('OK');
    expect((await call).code).toBe(code);
    expect((await find(name))?.spec.running).toBe(method === 'keepSpace');
  });
});

describe('a start that fails', () => {
  it('leaves the workspace stopped', async () => {
    await stopped('asleep');
    const answered = await test.call(START, query('asleep'), { withinMs: 2_000 });
    expect(answered.code).toBe('DEADLINE_EXCEEDED');
    await until(async () => (await find('asleep'))?.spec.running).toBe(false);
    expect((await find('asleep'))?.metadata.annotations ?? {}).toEqual({});
  });

  it('leaves a workspace running that another user has started', async () => {
    await stopped('awake');
    await test.client.patch(WORKSPACES, test.key('awake'), { spec: { running: true } }, { type: 'merge' });
    const answered = await test.call(START, query('awake'), { withinMs: 2_000 });
    expect(answered.code).toBe('DEADLINE_EXCEEDED');
    expect((await find('awake'))?.spec.running).toBe(true);
  });

  it('gives NOT_FOUND without a workspace', async () => {
    expect((await test.call(START, query('nowhere'))).code).toBe('NOT_FOUND');
    expect((await test.call('getPodSpaceStatus', query('nowhere'))).code).toBe('NOT_FOUND');
    expect((await test.call('stopSpace', query('nowhere'))).code).toBe('NOT_FOUND');
    expect((await test.call('keepSpace', query('nowhere'))).code).toBe('NOT_FOUND');
  });
});

it('the server ignores unknown fields', async () => {
  // Field 99, a number.
  const more = Buffer.of(0x98, 0x06, 0x01);
  expect(await test.call('deleteSpace', query('nothing'), { more })).toMatchObject({ code: 'NOT_FOUND' });
});
