import { describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { PODS, type Pod, VOLUME_CLAIMS } from '#api/core.ts';
import { WORKSPACES, type Workspace, workspaceAnnotations } from '../api.ts';
import { useWorkspaces } from '../testing/workspace-world.fixture.ts';

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
const create = (name: string, more: object = {}, asked = {}) =>
  test.call('createSpaceAndWaitForRunning', info(name, more), asked);
const RUNS = { ip: '10.20.30.40', port: 9999 };

describe('a workspace over gRPC', () => {
  it('is created, reports its node and address, and is deleted', async () => {
    const node = `${test.namespace}-node`;
    const created = await create('whole', {
      resourceLimit: { cpu: '500m', Memory: '1Gi', Storage: '2Gi' },
    });
    expect(created).toMatchObject({ code: 'OK', value: { nodeName: node, ...RUNS } });
    const pod = await test.client.get<Pod>(PODS, test.key('whole'));
    expect(pod.metadata.labels).toMatchObject({ kind: 'cloud-ide' });
    expect(pod.spec).toMatchObject({
      automountServiceAccountToken: false,
      containers: [
        {
          image: 'registry.example/editor:1',
          imagePullPolicy: 'IfNotPresent',
          ports: [{ containerPort: 9999 }],
          resources: { limits: { cpu: '500m', memory: '1Gi' } },
        },
      ],
    });
    expect(await test.client.find(VOLUME_CLAIMS, test.key('whole'))).toMatchObject({
      spec: { resources: { requests: { storage: '2Gi' } } },
    });
    // No call waits for it, so it stays.
    expect((await find('whole'))?.metadata.annotations ?? {}).toEqual({});
    expect(await test.call('getPodSpaceStatus', query('whole'))).toMatchObject({
      code: 'OK',
      value: { status: 1, message: 'Running' },
    });
    expect(await test.call('getPodSpaceInfo', query('whole'))).toMatchObject({
      value: { nodeName: node, ...RUNS },
    });
    expect(await test.call('deleteSpace', query('whole'))).toMatchObject({
      code: 'OK',
      value: { status: 200, message: 'success' },
    });
    expect((await test.call('getPodSpaceStatus', query('whole'))).code).toBe('NOT_FOUND');
    expect((await test.call('getPodSpaceInfo', query('whole'))).code).toBe('NOT_FOUND');
    expect((await test.call('deleteSpace', query('whole'))).code).toBe('NOT_FOUND');
  });

  it('is stopped with its volume kept, and started again', async () => {
    await create('pausing', { resourceLimit: { Storage: '1Gi' } });
    const volume = await test.client.get(VOLUME_CLAIMS, test.key('pausing'));
    expect(await test.call('stopSpace', query('pausing'))).toMatchObject({ value: { status: 200 } });
    await until(() => test.client.find(PODS, test.key('pausing'))).toBeUndefined();
    await until(async () => (await find('pausing'))?.status?.phase).toBe('Stopped');
    expect((await test.client.get(VOLUME_CLAIMS, test.key('pausing'))).metadata.uid).toBe(
      volume.metadata.uid,
    );
    expect(await test.call('getPodSpaceInfo', query('pausing'))).toMatchObject({
      code: 'OK',
      value: { nodeName: '', ip: '' },
    });
    expect(await test.call('startSpaceAndWaitForRunning', query('pausing'))).toMatchObject({
      code: 'OK',
      value: RUNS,
    });
    // A running Workspace gets its answer at once.
    expect(await test.call('startSpaceAndWaitForRunning', query('pausing'))).toMatchObject({
      code: 'OK',
      value: RUNS,
    });
    expect(findCondition((await find('pausing'))?.status?.conditions, 'Ready')).toMatchObject({
      status: 'True',
      reason: 'Running',
    });
  });

  it('records the use by keepSpace, and is stopped after its idle time', async () => {
    await create('kept');
    await test.client.patch(
      WORKSPACES,
      test.key('kept'),
      { spec: { idleStopMinutes: 1 } },
      { type: 'merge' },
    );
    for (const _time of [1, 2, 3])
      expect(await test.call('keepSpace', query('kept'))).toMatchObject({ value: { status: 200 } });
    const used = (await find('kept'))?.metadata.annotations?.[workspaceAnnotations.activeAt] ?? '';
    expect(Date.now() - Date.parse(used)).toBeLessThan(20_000);
    // Changes its status, so that it seems to have run for long.
    const conditions = ((await find('kept'))?.status?.conditions ?? []).map((one) => ({
      ...one,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }));
    const by = { type: 'merge', subresource: 'status' } as const;
    await test.client.patch(WORKSPACES, test.key('kept'), { status: { conditions } }, by);
    const longAgo = {
      metadata: { annotations: { [workspaceAnnotations.activeAt]: '2026-01-01T01:00:00Z' } },
    };
    expect((await find('kept'))?.spec.running).toBe(true);
    await test.client.patch(WORKSPACES, test.key('kept'), longAgo, { type: 'merge' });
    await until(async () => (await find('kept'))?.spec.running).toBe(false);
  });
});
