import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { EVENTS, NODES, type Node, PODS, type Pod, VOLUME_CLAIMS } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { useAddon } from '../testing/addon-world.fixture.ts';
import { workspace } from './addon.ts';
import { WORKSPACES, type Workspace, type WorkspaceSpec } from './api.ts';
import { lateClock, runKubelet } from './testing/workspace-kubelet.fixture.ts';

const LIMIT_RANGES: Resource = {
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  plural: 'limitranges',
  namespaced: true,
};
/** Time by which the controller's clock is ahead of lateClock. */
let aheadMs = 0;
const clock: Clock = { ...lateClock, now: () => new Date(lateClock.now().getTime() + aheadMs) };
const test = useAddon(workspace, clock);
let stopKubelet: (() => Promise<void>) | undefined;
beforeAll(async () => {
  const name = `${test.namespace}-node`;
  await test.client.create<Node>(NODES, { metadata: { name } });
  stopKubelet = runKubelet(test.client, test.namespace, name);
  // Pods of the add-on must pass the strictest standard of Kubernetes.
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const key = { namespace: '', name: test.namespace };
  await test.client.patch(NAMESPACES, key, { metadata: { labels } }, { type: 'merge' });
});
afterAll(async () => {
  await stopKubelet?.();
  await test.client.delete(NODES, { namespace: '', name: `${test.namespace}-node` });
});

const make = (name: string, more: Partial<WorkspaceSpec> = {}): Promise<Workspace> =>
  test.client.create<Workspace>(WORKSPACES, {
    metadata: test.key(name),
    spec: { image: 'editor', port: 8080, ...more },
  });
const change = (name: string, spec: Partial<WorkspaceSpec>) =>
  test.client.patch<Workspace>(WORKSPACES, test.key(name), { spec }, { type: 'merge' });
const get = (name: string) => test.client.get<Workspace>(WORKSPACES, test.key(name));
const find = (name: string) => test.client.find<Workspace>(WORKSPACES, test.key(name));
const podOf = (name: string) => test.client.find<Pod>(PODS, test.key(name));
const until = (probe: () => Promise<unknown>, timeout = 15_000) => expect.poll(probe, { timeout });
const phase = async (name: string) => (await find(name))?.status?.phase;
const ready = async (name: string) => findCondition((await find(name))?.status?.conditions, 'Ready');
const remove = (name: string) => test.client.delete(WORKSPACES, test.key(name));

describe('a Workspace', () => {
  it('is created from the example', async () => {
    const name = await test.makeExample();
    const { image } = (await get(name)).spec;
    await until(() => podOf(name)).toMatchObject({
      metadata: { labels: { kind: 'cloud-ide' } },
      spec: { containers: [{ image, imagePullPolicy: 'IfNotPresent' }] },
    });
    const claim = await test.client.get(VOLUME_CLAIMS, test.key(name));
    expect(claim).toMatchObject({ spec: { resources: { requests: { storage: '5Gi' } } } });
    await remove(name);
  });

  it('runs as its user, with its resource requests', async () => {
    const resources = { limits: { cpu: '2', memory: '4Gi' }, requests: { cpu: '100m' } };
    await make('small', { runAsUser: 1234, resources });
    await until(() => podOf('small')).toMatchObject({
      spec: {
        securityContext: { runAsUser: 1234, runAsGroup: 1234, fsGroup: 1234 },
        containers: [{ resources: { ...resources, requests: { cpu: '100m', memory: '4Gi' } } }],
      },
    });
    await remove('small');
  });

  it('is removed with pod and volume when its ttl ends, and no other is', async () => {
    aheadMs = 28_000;
    await make('lasting', { storage: { size: '1Gi' } });
    await make('mortal', { storage: { size: '1Gi' }, ttlMinutes: 1 });
    await until(() => podOf('mortal')).toBeDefined();
    // The timer must remove it: the check of a starting pod would do so only after 20 s.
    await until(() => find('mortal'), 17_000).toBeUndefined();
    const going = async () => {
      const [pod, claim] = [await podOf('mortal'), await test.client.find(VOLUME_CLAIMS, test.key('mortal'))];
      // Kubernetes protects a volume while a pod uses it, and the controller that ends the protection does not run here.
      return [pod === undefined, !claim || claim.metadata.deletionTimestamp !== undefined];
    };
    await until(going, 100_000).toEqual([true, true]);
    expect(await phase('lasting')).toBe('Running');
    aheadMs = 0;
    await remove('lasting');
  }, 150_000);

  it('runs, stops, and applies changes when it starts again', async () => {
    await make('life');
    await until(async () => (await get('life')).status).toMatchObject({
      phase: 'Running',
      nodeName: `${test.namespace}-node`,
      ip: '10.20.30.40',
      port: 8080,
      observedGeneration: 1,
    });
    await change('life', { port: 9090 });
    await until(async () => (await get('life')).status).toMatchObject({ observedGeneration: 2, port: 8080 });
    await change('life', { running: false });
    await until(() => phase('life')).toBe('Stopped');
    expect(await podOf('life')).toBeUndefined();
    expect((await get('life')).status?.ip).toBeUndefined();
    await change('life', { running: true });
    await until(async () => (await get('life')).status).toMatchObject({ phase: 'Running', port: 9090 });
    await until(() => test.reported()).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^Normal Running/),
        expect.stringMatching(/^Normal Stopped/),
      ]),
    );
    await remove('life');
  });

  it('is stopped after its idle time', async () => {
    await make('idle', { idleStopMinutes: 1 });
    await until(() => phase('idle')).toBe('Running');
    const conditions = ((await get('idle')).status?.conditions ?? []).map((one) => ({
      ...one,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }));
    const by = { type: 'merge', subresource: 'status' } as const;
    await test.client.patch(WORKSPACES, test.key('idle'), { status: { conditions } }, by);
    await until(() => phase('idle')).toBe('Stopped');
    expect((await get('idle')).spec.running).toBe(false);
    await until(() => test.reported()).toContainEqual(expect.stringMatching(/^Normal Idle/));
    await remove('idle');
  });

  it('gets a new pod after an eviction, with the reason', async () => {
    await make('evicted', { image: 'evicted' });
    await until(() => ready('evicted')).toMatchObject({ reason: 'PodFailed', message: /./ });
    const first = (await podOf('evicted'))?.metadata.uid;
    await until(async () => (await podOf('evicted'))?.metadata.uid ?? first, 40_000).not.toBe(first);
    await remove('evicted');
  }, 60_000);

  it('waits for pod and volume of a deleted predecessor, and uses neither', async () => {
    await make('again', { storage: { size: '1Gi' } });
    await until(() => phase('again')).toBe('Running');
    const former = [await podOf('again'), await test.client.find(VOLUME_CLAIMS, test.key('again'))];
    await remove('again');
    await make('again', { storage: { size: '1Gi' } });
    const going = async () =>
      (await test.client.find(VOLUME_CLAIMS, test.key('again')))?.metadata.deletionTimestamp;
    await until(going, 100_000).toBeDefined();
    await until(() => podOf('again')).toBeUndefined();
    expect(await ready('again')).toMatchObject({ status: 'False', reason: 'FormerGoing' });
    // Kubernetes protects a volume while a pod uses it, and the controller that ends the protection does not run here.
    const freed = { metadata: { finalizers: null } };
    await test.client.patch(VOLUME_CLAIMS, test.key('again'), freed, { type: 'merge' });
    await until(() => phase('again')).toBe('Running');
    const present = [await podOf('again'), await test.client.find(VOLUME_CLAIMS, test.key('again'))];
    const { uid } = (await get('again')).metadata;
    for (const [index, one] of present.entries()) {
      expect(one?.metadata.uid).not.toBe(former[index]?.metadata.uid);
      expect(one?.metadata.ownerReferences?.[0]?.uid).toBe(uid);
    }
    await remove('again');
  }, 120_000);

  it('starts at once when a foreign pod of its name is deleted', async () => {
    const metadata = { ...test.key('freed'), labels: { kind: 'cloud-ide' } };
    const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
    const spec = {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [{ name: 'a', image: 'silent', securityContext }],
    };
    await test.client.create<KubeObject & { spec: object }>(PODS, { metadata, spec });
    await make('freed');
    await until(() => ready('freed')).toMatchObject({ reason: 'NameTaken' });
    await test.client.delete(PODS, test.key('freed'), { gracePeriodSeconds: 0 });
    await until(() => phase('freed')).toBe('Running');
    await remove('freed');
  });

  it('reports that its pod lost its label, and stops it', async () => {
    await make('bare');
    await until(() => phase('bare')).toBe('Running');
    const bare = { metadata: { labels: { kind: null } } };
    await test.client.patch(PODS, test.key('bare'), bare, { type: 'merge' });
    await until(() => ready('bare')).toMatchObject({ message: expect.stringContaining('lost its label') });
    await change('bare', { running: false });
    await until(async () => (await podOf('bare'))?.metadata.deletionTimestamp).toBeDefined();
    expect(await phase('bare')).not.toBe('Stopped');
    await test.client.delete(PODS, test.key('bare'), { gracePeriodSeconds: 0 });
    await until(() => phase('bare')).toBe('Stopped');
    await remove('bare');
  });

  it('reports the error of the API server for its pod', async () => {
    const limits = [{ type: 'Container', max: { memory: '1Gi' } }];
    const range: KubeObject & { spec: object } = { metadata: test.key('range'), spec: { limits } };
    await test.client.create(LIMIT_RANGES, range);
    await make('large', { resources: { limits: { memory: '2Gi' } } });
    await until(() => ready('large')).toMatchObject({
      status: 'False',
      reason: 'Refused',
      message: expect.stringContaining('maximum memory usage'),
    });
    await test.client.delete(LIMIT_RANGES, test.key('range'));
    await remove('large');
  });

  it('reports Events of a pod that only waits', async () => {
    await make('waits', { image: 'silent' });
    await until(() => podOf('waits')).toBeDefined();
    const pod = await podOf('waits');
    const event: KubeObject & Record<string, unknown> = {
      metadata: test.key('waits.1'),
      involvedObject: { kind: 'Pod', ...test.key('waits'), uid: pod?.metadata.uid },
      type: 'Warning',
      reason: 'FailedMount',
      message: 'the disk is elsewhere',
      lastTimestamp: '2026-01-01T00:00:00Z',
    };
    await test.client.create(EVENTS, event);
    await test.client.patch(
      WORKSPACES,
      test.key('waits'),
      { metadata: { labels: { probe: 'again' } } },
      { type: 'merge' },
    );
    await until(async () => (await ready('waits'))?.message).toContain('FailedMount: the disk is elsewhere');
    await remove('waits');
  });
});

describe('an invalid Workspace', () => {
  it.each<[string, Partial<WorkspaceSpec>, RegExp]>([
    ['no image', { image: '' }, /spec\.image/],
    ['a port that is none', { port: 0 }, /spec\.port/],
    ['a size that is none', { storage: { size: '0' } }, /spec\.storage\.size/],
    ['cores that are none', { resources: { limits: { cpu: '0.000' } } }, /spec\.resources\.limits\.cpu/],
    [
      'requests beyond limits',
      { resources: { limits: { memory: '1Gi' }, requests: { memory: '1025Mi' } } },
      /spec\.resources\.requests\.memory: .*must be at most limits\.memory/,
    ],
    ['root', { runAsUser: 0 }, /spec\.runAsUser.*1/],
    ['a path that is none', { mountPath: 'home' }, /spec\.mountPath/],
    ['no time', { ttlMinutes: 0 }, /spec\.ttlMinutes/],
  ])('is refused with its field: %s', async (_what, more, says) => {
    await expect(make('bad', more)).rejects.toThrow(says);
  });

  it('is refused with an invalid name, or with another volume', async () => {
    await expect(make('a.b')).rejects.toThrow(/its pod and volume have its name/);
    await make('fixed', { storage: { size: '1Gi' }, running: false });
    await expect(change('fixed', { storage: { size: '2Gi' } })).rejects.toThrow(/cannot be changed/);
    await remove('fixed');
  });
});
