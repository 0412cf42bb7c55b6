import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepHosts } from '#access/testing/made-cluster.fixture.ts';
import { SECRETS } from '#api/core.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { createCluster, deleteCluster, routesOfOperations } from '#rest/asking.ts';
import { type RestClient, restClient } from '#rest/client.ts';
import type { PlanAnswer } from '#rest/plan.ts';
import type { Route } from '#rest/route.ts';
import { into } from '../testing/into.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

/** Tests the answers to `?dryRun=All` of every route with an operation, and that nothing is written. */
let world: RestWorld;
let alice: RestClient;
const host = (last: number, more: object = {}) => ({ ip: `10.7.0.${last}`, ...more });
const privateSSHKey = keyPair().private;
const creation = { masterList: [host(1)], nodeList: [host(2), host(3)], privateSSHKey };
const routeOf = (name: string): Route => {
  const found = routesOfOperations.find(({ operation }) => operation.name === name);
  if (!found) throw new Error(`${name} has no route`);
  return found.route;
};

/** Returns the answer of a dry run, and checks that it wrote nothing. */
async function dry(route: Route, name: string, body?: object) {
  const before = await world.written();
  const answer = await alice.call(route, {
    params: { region: 'north', name },
    query: { namespace: world.namespace, dryRun: 'All' },
    ...(body === undefined ? {} : { body }),
  });
  expect(await world.written()).toEqual(before);
  return answer;
}
async function plan(route: Route, name: string, body?: object): Promise<PlanAnswer> {
  const answer = await dry(route, name, body);
  expect(answer).toMatchObject({ ok: true, status: 200 });
  if (!answer.ok) throw new Error(answer.error.message);
  const { plan: found } = createCluster.answer.parse(answer.body);
  if (!found) throw new Error('no plan');
  return found;
}
const actions = ({ hosts }: PlanAnswer) => Object.fromEntries(hosts.map(({ ip, action }) => [ip, action]));
const ask = (name: string, body: object) =>
  alice.call(createCluster, {
    params: { region: 'north', name },
    query: { namespace: world.namespace },
    body,
  });

beforeAll(async () => {
  world = await restWorld();
  alice = restClient(into(world.app), world.tokens.alice);
  expect(await ask('made', creation)).toMatchObject({ ok: true });
  await world.created('made');
  expect(await ask('young', { ...creation, masterList: [host(21)], nodeList: [] })).toMatchObject({
    ok: true,
  });
});
afterAll(() => world.stop());

describe('a dry run', () => {
  it('plans a creation with hosts, duties and steps, and creates no object', async () => {
    const found = await plan(createCluster, 'fresh', {
      ...creation,
      masterList: [host(11)],
      nodeList: [host(12, { reclaim: 'old' })],
    });
    expect(found).toMatchObject({
      operation: 'create',
      kubeVersion: { to: 'v1.34.4' },
      hosts: [
        { ip: '10.7.0.11', name: 'host-10-7-0-11', duties: ['control-plane', 'etcd'], action: 'join' },
        { ip: '10.7.0.12', duties: ['worker'], action: 'join', reclaim: 'old' },
      ],
      release: [],
      refusals: [],
      warnings: [{ field: 'nodeList[0].ip', value: '10.7.0.12', reason: expect.stringContaining('wiped') }],
    });
    expect(found.steps[0]).toEqual({
      name: 'Take hosts',
      hosts: ['10.7.0.11', '10.7.0.12'],
      pace: 'all',
      cut: 'between',
    });
    expect(await world.cluster('fresh')).toBeUndefined();
  });

  it('reports a host of another cluster by field, and names the cluster only to those who may get it', async () => {
    const hidden = {
      metadata: { namespace: 'elsewhere', name: 'hidden' },
      spec: { cluster: { nodeList: [host(41)] } },
    };
    await keepHosts(world.admin, world.operatorNamespace, 'hidden', hidden);
    const found = await plan(createCluster, 'fresh', {
      ...creation,
      masterList: [host(11)],
      nodeList: [host(12), host(12, { user: 'root' }), host(3), host(41)],
    });
    const reason = (cluster: string) =>
      `belongs to ${cluster}; choose another host, or remove it there first`;
    expect(found.refusals).toEqual([
      { field: 'nodeList[2].ip', value: '10.7.0.3', reason: reason(`cluster ${world.namespace}/made`) },
      { field: 'nodeList[3].ip', value: '10.7.0.41', reason: reason('another cluster') },
    ]);
    expect(JSON.stringify(found)).not.toContain('hidden');
  });

  it('names the cluster whose remains are wiped from an Unclean host', async () => {
    const left = {
      metadata: { namespace: 'other', name: 'left' },
      spec: { cluster: { nodeList: [host(31)] } },
    };
    await keepHosts(world.admin, world.operatorNamespace, 'left', left, 'Unclean');
    const body = { ...creation, masterList: [host(11)], nodeList: [host(31)] };
    expect((await plan(createCluster, 'fresh', body)).hosts[1]).toMatchObject({ reclaim: 'left' });
  });

  it('reports invalid fields as the body names them, and a foreign Secret', async () => {
    const { namespace } = world;
    await world.admin.create(SECRETS, { metadata: { namespace, name: 'lent-ssh' } });
    const found = await plan(createCluster, 'lent', {
      ...creation,
      masterList: [host(11)],
      nodeList: [{ ip: '10.96.0.3' }],
      kubeVersion: 'v1.1.1',
    });
    expect(found.refusals.map(({ field }) => field)).toEqual([
      'kubeVersion',
      'nodeList[0].ip',
      'privateSSHKey',
    ]);
    // An invalid body gets the same refusal as without dry run.
    expect(await dry(createCluster, 'lent', { masterList: [host(11)] })).toMatchObject({ status: 422 });
    expect(await dry(createCluster, 'made', creation)).toMatchObject({ status: 409 });
    expect(await dry(createCluster, 'made', { retry: true })).toMatchObject({ status: 409 });
    expect(await dry(createCluster, 'missing', { retry: true })).toMatchObject({ status: 404 });
    expect((await plan(createCluster, 'young', { retry: true })).refusals).toEqual([]);
  });

  it('plans a scale-up, a scale-down and a relabel of an existing cluster', async () => {
    const up = await plan(routeOf('scale-up'), 'made', { nodeList: [host(2), host(3), host(4)] });
    expect([up.operation, actions(up), up.refusals]).toEqual([
      'scale-up',
      { '10.7.0.1': 'stay', '10.7.0.4': 'join' },
      [],
    ]);
    expect(up).not.toHaveProperty('kubeVersion');
    const down = await plan(routeOf('scale-down'), 'made', { nodeList: [host(2)] });
    expect([down.operation, actions(down), down.refusals]).toEqual([
      'scale-down',
      { '10.7.0.1': 'stay', '10.7.0.3': 'leave' },
      [],
    ]);
    expect(down.steps.map(({ name, hosts }) => [name, hosts])).toEqual([
      ['Take hosts', ['10.7.0.1', '10.7.0.3']],
      ['Drain and remove nodes', ['10.7.0.1']],
      ['Reset hosts', ['10.7.0.3']],
      ['Forget removed nodes', ['10.7.0.1']],
    ]);
    const marked = await plan(routeOf('relabel'), 'made', { nodeList: [host(2, { labels: { rack: 'a' } })] });
    expect([actions(marked), marked.refusals]).toEqual([{ '10.7.0.1': 'stay', '10.7.0.2': 'change' }, []]);
    expect((await world.cluster('made'))?.metadata.annotations?.[annotations.operation]).toBe(
      'create-finished',
    );
  });

  it('reports why an operation would not start', async () => {
    const dropped = await plan(routeOf('scale-up'), 'made', { nodeList: [host(3)] });
    expect(dropped.refusals).toEqual([
      { field: 'nodeList', value: '10.7.0.2', reason: expect.stringContaining('keeps every present host') },
    ]);
    const otherwise = await plan(routeOf('scale-up'), 'made', {
      nodeList: [host(2, { labels: { rack: 'a' } }), host(3)],
    });
    expect(otherwise.refusals).toMatchObject([{ field: 'nodeList[0].labels', value: '10.7.0.2' }]);
    const named = await plan(routeOf('scale-up'), 'made', {
      nodeList: [host(2), host(3), host(4, { name: 'host-10-7-0-2' })],
    });
    expect(named.refusals.map(({ field }) => field)).toContain('nodeList[2].name');
    const early = await plan(routeOf('scale-up'), 'young', { nodeList: [host(22)] });
    expect(early.refusals).toMatchObject([
      { field: 'name', reason: expect.stringContaining('not created yet') },
      {
        field: 'name',
        value: 'young',
        reason: expect.stringMatching(/^is busy: creating was asked by .*:alice and did not start yet$/),
      },
    ]);
    expect(await dry(routeOf('scale-up'), 'made', {})).toMatchObject({ status: 422 });
    expect(await dry(routeOf('scale-up'), 'missing', { nodeList: [host(22)] })).toMatchObject({
      status: 404,
    });
  });

  it('plans a deletion that resets every held host', async () => {
    const found = await plan(deleteCluster, 'made');
    expect([actions(found), found.steps.map(({ name }) => name), found.refusals]).toEqual([
      { '10.7.0.1': 'leave', '10.7.0.2': 'leave', '10.7.0.3': 'leave' },
      ['Take hosts', 'Reset hosts'],
      [],
    ]);
    expect(
      await world.admin.find(KUBERNETES_CLUSTERS, { namespace: world.namespace, name: 'made' }),
    ).toBeDefined();
    expect((await plan(deleteCluster, 'young')).hosts).toEqual([]);
    expect(await dry(deleteCluster, 'missing')).toMatchObject({ status: 404 });
  });

  it('returns a plan hash that changes only with the plan', async () => {
    const up = (...last: number[]) => ({ nodeList: last.map((one) => host(one)) });
    const agreed = await plan(routeOf('scale-up'), 'made', up(2, 3, 4));
    expect(agreed.hash).toMatch(/^[0-9a-f]{64}$/);
    expect((await plan(routeOf('scale-up'), 'made', up(4, 3, 2))).hash).toBe(agreed.hash);
    expect((await plan(routeOf('scale-up'), 'made', up(2, 3, 5))).hash).not.toBe(agreed.hash);
    const other = await plan(routeOf('scale-up'), 'made', { ...up(2, 3, 5), plan: agreed.hash });
    expect(other.refusals).toMatchObject([
      { field: 'plan', reason: expect.stringContaining('10.7.0.5 join; steps "Take hosts"') },
    ]);
    expect(await dry(routeOf('scale-up'), 'made', { ...up(2, 3, 4), plan: 'x' })).toMatchObject({
      status: 422,
    });
  });

  it('binds a later request to its plan hash, and returns 409 if the plan differs', async () => {
    const { hash } = await plan(createCluster, 'sealed', {
      ...creation,
      masterList: [host(31)],
      nodeList: [],
    });
    const more = { ...creation, masterList: [host(31)], nodeList: [host(32)], plan: hash };
    const before = await world.written();
    expect(await ask('sealed', more)).toMatchObject({
      ok: false,
      status: 409,
      error: { message: expect.stringContaining('10.7.0.32 join') },
    });
    expect(await world.written()).toEqual(before);
    expect(await ask('sealed', { ...more, nodeList: [] })).toMatchObject({ ok: true });
    const marked = (await world.cluster('sealed'))?.metadata.annotations;
    expect(marked?.[annotations.plan]).toBe(hash);
    // A request without a plan hash removes the hash of the earlier request.
    expect(await ask('sealed', { retry: true })).toMatchObject({ ok: true });
    expect((await world.cluster('sealed'))?.metadata.annotations).not.toHaveProperty([annotations.plan]);
    const gone = await plan(deleteCluster, 'sealed');
    const remove = (body: object) =>
      alice.call(deleteCluster, {
        params: { region: 'north', name: 'sealed' },
        query: { namespace: world.namespace },
        body,
      });
    expect(await remove({ plan: hash })).toMatchObject({ ok: false, status: 409 });
    expect(await remove({ plan: gone.hash })).toMatchObject({ ok: true });
  });

  it.each<[string, object]>([
    ['renew', {}],
    ['rotate', {}],
    ['repair', {}],
    ['snapshot', {}],
    ['reconfigure', { kubeadm: { kubelet: { maxPods: 60 } } }],
    ['scale-up', { nodeList: [host(2), host(3), host(4)] }],
    ['replace', { from: host(2).ip, to: host(4) }],
    ['restore', { snapshot: '20261129t020000z-7', confirmDataLossSince: '2026-11-29T02:00:00Z' }],
  ])('returns a plan hash with which %s is accepted', async (operation, body) => {
    const name = `with-${operation}`;
    expect(await ask(name, creation)).toMatchObject({ ok: true });
    await world.created(name);
    const stored = [{ name: '20261129t020000z-7', createdAt: '2026-11-29T02:00:00Z', size: 1 }];
    await world.admin.patch(
      KUBERNETES_CLUSTERS,
      { namespace: world.namespace, name },
      { status: { etcdSnapshots: { stored } } },
      { type: 'merge', subresource: 'status' },
    );
    const route = routeOf(operation);
    const { hash, refusals } = await plan(route, name, body);
    expect(refusals).toEqual([]);
    const params = { region: 'north', name };
    const answer = await alice.call(route, {
      params,
      query: { namespace: world.namespace },
      body: { ...body, plan: hash },
    });
    expect(answer).toMatchObject({ ok: true });
  });

  it('accepts only the value All', async () => {
    const path = `/region/north/cluster/made?namespace=${world.namespace}&dryRun=`;
    for (const kind of ['None', 'all', ''])
      expect((await world.call(world.tokens.alice, 'DELETE', path + kind)).status).toBe(422);
    expect(await world.cluster('made')).toMatchObject({ metadata: { name: 'made' } });
    expect((await world.cluster('made'))?.metadata.deletionTimestamp).toBeUndefined();
  });
});
