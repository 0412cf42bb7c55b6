import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KUBERNETES_CLUSTERS, type OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

/** Tests of approve, cancel, pause and resume over REST. */
let world: RestWorld;
const ID = 'bcdfghjklm';
const privateSSHKey = keyPair().private;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const path = (name: string, verb: string, query = '') =>
  `/region/north/cluster/${name}${verb}?namespace=${world.namespace}${query}`;
const post = (name: string, verb: string, body?: object, query = '') =>
  world.call(world.tokens.alice, 'POST', path(name, verb, query), body);
let made = 0;
/** Creates a cluster with this operation, and returns its name. */
async function given(operation?: Partial<OperationStatus>): Promise<string> {
  made += 1;
  const name = `demo-${made}`;
  const body = { masterList: [{ ip: `10.8.0.${made}` }], privateSSHKey };
  expect((await post(name, '', body)).status).toBe(200);
  const status = operation && { phase: 'Creating', operation: runningOperation({ id: ID, ...operation }) };
  const key = { namespace: world.namespace, name };
  if (status)
    await world.admin.patch(KUBERNETES_CLUSTERS, key, { status }, { type: 'merge', subresource: 'status' });
  return name;
}
const annotationsOf = async (name: string) => (await world.cluster(name))?.metadata.annotations ?? {};

describe('POST …/approve', () => {
  const hash = 'a'.repeat(64);
  const approve = (name: string, body: object = {}) => post(name, '/approve', body);
  /** Writes what the controller writes when it has planned a dry run. */
  async function planned(name: string, result: 'Possible' | 'Refused' | 'Checking', requestId = 'asked') {
    const key = { namespace: world.namespace, name };
    const written = { [annotations.dryRun]: 'All', [annotations.requestId]: 'asked' };
    await world.admin.patch(
      KUBERNETES_CLUSTERS,
      key,
      { metadata: { annotations: written } },
      { type: 'merge' },
    );
    const plan = {
      ...{ word: 'scaling-down', requestId, specHash: 'x', operation: 'scale-down', result, message: 'why' },
      ...{ steps: [], hosts: {}, changes: [], after: 1, hash, at: '2026-11-29T10:00:00Z' },
    };
    const status = { status: { plan } };
    await world.admin.patch(KUBERNETES_CLUSTERS, key, status, { type: 'merge', subresource: 'status' });
  }

  it('starts the request whose plan waits, and only that plan', async () => {
    const name = await given();
    await world.created(name);
    expect(await approve(name)).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/no dry run/) },
    });
    await planned(name, 'Possible');
    expect((await approve(name, { plan: 'b'.repeat(64) })).status).toBe(409);
    const dry = await post(name, '/approve', {}, '&dryRun=All');
    expect(dry).toMatchObject({ status: 200, body: { plan: hash } });
    expect((await annotationsOf(name))[annotations.dryRun]).toBe('All');
    expect(await approve(name, { plan: hash })).toMatchObject({
      status: 200,
      body: { plan: hash, operation: 'scale-down' },
    });
    const after = await annotationsOf(name);
    expect([after[annotations.dryRun], after[annotations.plan]]).toEqual([undefined, hash]);
  });

  it.each([
    ['Refused', 'asked', /is refused: why/],
    ['Checking', 'asked', /still being made/],
    ['Possible', 'another', /still being made/],
  ] as const)('refuses a plan that is %s for request %s', async (result, requestId, message) => {
    const name = await given();
    await world.created(name);
    await planned(name, result, requestId);
    expect(await approve(name)).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(message) },
    });
    expect((await annotationsOf(name))[annotations.dryRun]).toBe('All');
  });
});

describe('POST …/approve of a deletion', () => {
  it('requires the right to delete, and records who approved', async () => {
    const name = await given();
    await world.created(name);
    const key = { namespace: world.namespace, name };
    const asked = {
      [annotations.operation]: 'terminating',
      [annotations.dryRun]: 'All',
      [annotations.requestId]: 'asked',
    };
    await world.admin.patch(
      KUBERNETES_CLUSTERS,
      key,
      { metadata: { annotations: asked } },
      { type: 'merge' },
    );
    const plan = {
      ...{ word: 'terminating', requestId: 'asked', specHash: 'x', operation: 'delete', result: 'Possible' },
      ...{ message: '', steps: [], hosts: {}, changes: [], after: 1 },
      ...{ hash: 'c'.repeat(64), at: '2026-11-29T10:00:00Z' },
    };
    await world.admin.patch(
      KUBERNETES_CLUSTERS,
      key,
      { status: { plan } },
      { type: 'merge', subresource: 'status' },
    );
    const rule = (resources: string[], verbs: string[]) => ({ apiGroups: ['ecs.yun.com'], resources, verbs });
    const rights = [
      rule(['kubernetesclusters'], ['get', 'list', 'create', 'update', 'patch']),
      rule(['kubernetesclusters/kubeconfig', 'kubernetesclusters/credentials'], ['*']),
    ];
    const secrets = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };
    const approve = (token: string) => world.call(token, 'POST', path(name, '/approve'), {});
    expect(await approve(await world.accountWith([...rights, secrets]))).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/delete/) },
    });
    expect((await annotationsOf(name))[annotations.dryRun]).toBe('All');
    const remover = await world.accountWith([...rights, secrets, rule(['kubernetesclusters'], ['delete'])]);
    expect(await approve(remover)).toMatchObject({ status: 200, body: { operation: 'delete' } });
    const after = await annotationsOf(name);
    expect(after[annotations.requestedBy]).not.toBe(`system:serviceaccount:${world.namespace}:alice`);
    expect(after[annotations.requestedBy]).toMatch(/^system:serviceaccount:/);
  });
});

describe('POST …/cancel', () => {
  it('writes the id of the running operation and the user, once', async () => {
    const name = await given({});
    const before = await annotationsOf(name);
    const answer = await post(name, '/cancel');
    expect(answer).toMatchObject({
      status: 202,
      body: { code: 'OK', message: 'success', operation: { id: ID, name: 'create', step: 'masters' } },
    });
    expect(answer.headers['location']).toBe(`/api/v1${path(name, '')}`);
    const found = await annotationsOf(name);
    expect(found[annotations.cancel]).toBe(ID);
    expect(found[annotations.cancelledBy]).toBe(`system:serviceaccount:${world.namespace}:alice`);
    // The request-id of the operation itself does not change.
    expect(found[annotations.requestId]).toBe(before[annotations.requestId]);
    const { resourceVersion } = (await world.cluster(name))?.metadata ?? {};
    expect((await post(name, '/cancel', { id: ID })).status).toBe(202);
    expect((await world.cluster(name))?.metadata.resourceVersion).toBe(resourceVersion);
  });

  it.each<[string, Partial<OperationStatus> | undefined, object, RegExp]>([
    ['nothing runs', undefined, {}, /no operation under way/],
    ['it has ended', { result: 'finished' }, {}, /no operation under way/],
    ['another runs', {}, { id: 'xxxxxxxxxx' }, /another operation under way: bcdfghjklm \(creating\)/],
    ['it is a deletion', { name: 'delete' }, {}, /being deleted, which cannot be cancelled/],
  ])('returns 409 when %s, also in a dry run, and writes nothing', async (_what, operation, body, why) => {
    const name = await given(operation);
    const before = await world.written();
    for (const query of ['', '&dryRun=All'])
      expect(await post(name, '/cancel', body, query)).toMatchObject({
        status: 409,
        body: { message: expect.stringMatching(why) },
      });
    expect(await world.written()).toEqual(before);
  });

  it('returns the operation in a dry run, and writes nothing', async () => {
    const name = await given({});
    const before = await world.written();
    expect(await post(name, '/cancel', {}, '&dryRun=All')).toMatchObject({
      status: 202,
      body: { operation: { id: ID } },
    });
    expect(await world.written()).toEqual(before);
  });

  it('refuses unknown fields and parameters, another name, and a missing cluster', async () => {
    const name = await given({});
    expect((await post(name, '/cancel', { operation: ID })).status).toBe(400);
    expect((await post(name, '/cancel', {}, '&colour=red')).status).toBe(400);
    expect((await post(name, '/cancel', { name: 'other' })).status).toBe(422);
    expect((await post('missing', '/cancel')).status).toBe(404);
  });
});

describe('POST …/pause and …/resume', () => {
  it('set spec.paused and the user, change nothing else, and write nothing twice', async () => {
    const name = await given();
    const before = await world.cluster(name);
    for (const [verb, paused] of [
      ['/pause', true],
      ['/resume', false],
    ] as const) {
      expect(await post(name, verb, {}, '&dryRun=All')).toMatchObject({ status: 200, body: { paused } });
      expect((await world.cluster(name))?.spec.paused ?? false).toBe(!paused);
      expect(await post(name, verb)).toMatchObject({ status: 200, body: { code: 'OK', paused } });
      const now = await world.cluster(name);
      expect(now?.spec).toEqual({ ...before?.spec, paused });
      const by = { [annotations.pausedBy]: `system:serviceaccount:${world.namespace}:alice` };
      expect(now?.metadata.annotations).toEqual({ ...before?.metadata.annotations, ...by });
      expect((await post(name, verb)).status).toBe(200);
      expect((await world.cluster(name))?.metadata.resourceVersion).toBe(now?.metadata.resourceVersion);
    }
  });
});
