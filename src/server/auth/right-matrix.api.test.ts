import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyPair } from '#base/testing/key-pair.ts';
import { askingQuery, strictAskingQuery } from '#rest/addressing.ts';
import { routes } from '#rest/index.ts';
import type { Route } from '#rest/route.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

/**
 * Oracle O8: no caller gets more than its permissions allow. Tests each route × a caller without one permission it requires.
 */
let world: RestWorld;

const cluster = (verb: string, subresource = '') => ({
  apiGroups: ['ecs.yun.com'],
  resources: [`kubernetesclusters${subresource}`],
  verbs: [verb],
});
const RIGHTS = {
  create: cluster('create'),
  update: cluster('update'),
  delete: cluster('delete'),
  get: cluster('get'),
  list: cluster('list'),
  watch: cluster('watch'),
  kubeconfig: cluster('get', '/kubeconfig'),
  'give a key': cluster('create', '/credentials'),
  'use the key': cluster('use', '/credentials'),
  'list hosts': { apiGroups: ['ecs.yun.com'], resources: ['hosts'], verbs: ['list'] },
  'get Secrets': { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
} as const;
type Right = keyof typeof RIGHTS;

interface Case {
  operationId: string;
  /** Alternatives: one permission of each list is enough. */
  takes: readonly (readonly Right[])[];
  body?: object;
  dry?: true;
}
const host = (last: number) => ({ ip: `10.9.0.${last}` });
const privateSSHKey = keyPair().private;
const lists = { masterList: [host(1)], nodeList: [host(2)] };
const own = ['use the key', 'get Secrets'] as const;
const REAL: readonly Case[] = [
  { operationId: 'createCluster', takes: [['create'], ['give a key']], body: { ...lists, privateSSHKey } },
  {
    operationId: 'createCluster',
    takes: [['create'], ['get Secrets']],
    body: { ...lists, credentialsSecret: 'there-ssh' },
  },
  { operationId: 'createCluster', takes: [['update'], ['give a key']], body: { retry: true, privateSSHKey } },
  { operationId: 'createCluster', takes: [['update'], own], body: { retry: true } },
  { operationId: 'scaleUp', takes: [['update'], own], body: { nodeList: [host(2), host(3)] } },
  { operationId: 'scaleDown', takes: [['update'], own], body: { nodeList: [], allowEmpty: true } },
  {
    operationId: 'relabel',
    takes: [['update'], own],
    body: { nodeList: [{ ...host(2), labels: { 'example.com/rack': 'r1' } }] },
  },
  { operationId: 'replace', takes: [['update'], own], body: { from: host(2).ip, to: host(3) } },
  { operationId: 'moveEtcd', takes: [['update'], own], body: { etcdList: [host(4)] } },
  { operationId: 'repair', takes: [['update'], own], body: {} },
  { operationId: 'renew', takes: [['update'], own], body: {} },
  { operationId: 'rotate', takes: [['update'], own], body: {} },
  { operationId: 'update', takes: [['update'], own], body: { kubeVersion: 'v1.35.4' } },
  { operationId: 'rollback', takes: [['update'], own], body: {} },
  { operationId: 'snapshot', takes: [['update'], own], body: {} },
  {
    operationId: 'restore',
    takes: [['update'], own, ['kubeconfig']],
    body: { snapshot: '20261129t020000z-7', confirmDataLossSince: '2026-11-29T02:00:00Z' },
  },
  {
    operationId: 'reconfigure',
    takes: [['update'], own, ['kubeconfig']],
    body: { kubeadm: { kubelet: { maxPods: 50 } } },
  },
  { operationId: 'listSnapshots', takes: [['get']] },
  { operationId: 'cancelOperation', takes: [['update']] },
  { operationId: 'approvePlan', takes: [['update'], own, ['kubeconfig']] },
  { operationId: 'pauseCluster', takes: [['update']] },
  { operationId: 'resumeCluster', takes: [['update']] },
  { operationId: 'deleteCluster', takes: [['delete']] },
  { operationId: 'getCluster', takes: [['get']] },
  { operationId: 'getLogs', takes: [['get']] },
  { operationId: 'getKubeconfig', takes: [['kubeconfig']] },
  { operationId: 'listClusters', takes: [['list']] },
  { operationId: 'listHosts', takes: [['list hosts']] },
  { operationId: 'listClusterHosts', takes: [['get']] },
  { operationId: 'listOperations', takes: [['get']] },
  { operationId: 'getOperation', takes: [['get']] },
  { operationId: 'getOperationLog', takes: [['get']] },
  { operationId: 'watchClusters', takes: [['watch']] },
  { operationId: 'watchOperation', takes: [['get']] },
];
/** All requests, and a dry run of each that has one: it requires the same permissions. */
const CASES: readonly Case[] = REAL.flatMap((one) =>
  [askingQuery, strictAskingQuery].some((query) => query === routeOf(one).query)
    ? [one, { ...one, dry: true }]
    : [one],
);
const titleOf = ({ operationId, body = {}, dry }: Case): string =>
  `${operationId}${dry ? ' as a dry run' : ''} (${Object.keys(body).join()})`;
function routeOf({ operationId }: Case): Route {
  const found = routes.find((route) => route.operationId === operationId);
  if (!found) throw new Error(`${operationId} is no route`);
  return found;
}

const tokens = new Map<string, string>();
/** Returns the token of an account with every permission except these. */
async function without(rights: readonly Right[]): Promise<string> {
  const name = rights.join(',');
  const names = Object.keys(RIGHTS) as Right[];
  const rules = names.filter((right) => !rights.includes(right)).map((right) => RIGHTS[right]);
  const token =
    tokens.get(name) ??
    (await world.accountWith(rules, rights.includes('list hosts') ? [] : [RIGHTS['list hosts']]));
  tokens.set(name, token);
  return token;
}

const ask = (token: string | undefined, one: Case, name: string) => {
  const { method, path } = routeOf(one);
  const url = path.replace('{region}', 'north').replace('{name}', name).replace('{id}', 'b7k2m9x4qz');
  const query = path.includes('hosts') && !path.includes('{name}') ? '' : `?namespace=${world.namespace}`;
  return world.call(token, method, `${url}${query}${one.dry ? '&dryRun=All' : ''}`, one.body);
};

beforeAll(async () => {
  world = await restWorld();
  const creation: Case = { operationId: 'createCluster', takes: [], body: { ...lists, privateSSHKey } };
  expect((await ask(world.tokens.alice, creation, 'there')).status).toBe(200);
  await world.created('there');
});
afterAll(() => world.stop());

describe('the permission matrix', () => {
  it('covers every route', () => {
    const asked = new Set(CASES.map(({ operationId }) => operationId));
    expect(routes.map(({ operationId }) => operationId).filter((id) => !asked.has(id))).toEqual([]);
  });

  it.each(
    CASES.flatMap((one) => one.takes.map((rights) => [titleOf(one), rights.join(), one, rights] as const)),
  )('refuses %s without the permission to %s', async (_title, _right, one, rights) => {
    const before = await world.written();
    const token = await without(rights);
    const [there, missing] = [await ask(token, one, 'there'), await ask(token, one, 'missing')];
    expect([there.status, there.text]).toEqual([403, expect.stringContaining('may not')]);
    // A user who may update clusters may learn whether one exists; other users may not.
    const mayKnow = rights === own;
    expect(missing.status).toBe(mayKnow ? 404 : 403);
    const sameMessage = there.text
      .replaceAll('"there\\"', '"missing\\"')
      .replaceAll('\\"there', '\\"missing');
    if (!mayKnow && one.body && 'credentialsSecret' in one.body) expect(missing.text).toBe(there.text);
    else if (!mayKnow) expect(missing.text).toBe(sameMessage);
    expect(await world.written()).toEqual(before);
  });

  it.each(CASES.map((one) => [titleOf(one), one] as const))(
    'refuses %s without a token, or without any permission',
    async (_id, one) => {
      const before = await world.written();
      for (const name of ['there', 'missing']) {
        expect((await ask(undefined, one, name)).status).toBe(401);
        expect((await ask(world.tokens.mallory, one, name)).status).toBe(403);
      }
      expect(await world.written()).toEqual(before);
    },
  );

  it('allows reads with all permissions, and a scale-up with either Secret permission', async () => {
    const token = await without([]);
    const answers = await Promise.all(
      CASES.filter(({ operationId }) => /^(get|list)/.test(operationId)).map((one) =>
        ask(token, one, 'there'),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([
      ...[200, 200, 200, 409, 200, 200, 200, 200],
      // There is no record of that operation.
      ...[404, 404],
    ]);
    const scale = CASES.find(({ operationId }) => operationId === 'scaleUp');
    // Either permission for the cluster's own Secret is enough.
    for (const way of own) {
      if (scale)
        expect(
          (await ask(await without([way]), { ...scale, body: { retry: true } }, 'there')).status,
        ).not.toBe(403);
    }
  });
});
