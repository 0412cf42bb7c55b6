import ssh2 from 'ssh2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRETS } from '#api/core.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { routes } from '#rest/index.ts';
import type { Route } from '#rest/route.ts';
import { type RestWorld, restWorld } from './rest-world.ts';

/** Oracle O8: nobody gets what his rights do not give. Every route × a caller who lacks each right that it takes. */
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
  kubeconfig: cluster('get', '/kubeconfig'),
  'give a key': cluster('create', '/credentials'),
  'use the key': cluster('use', '/credentials'),
  'get Secrets': { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
} as const;
type Right = keyof typeof RIGHTS;

interface Case {
  operationId: string;
  /** Rights of which one is enough. */
  takes: readonly (readonly Right[])[];
  body?: object;
  path?: string;
}
const host = (last: number) => ({ ip: `10.9.0.${last}` });
const privateSSHKey = ssh2.utils.generateKeyPairSync('ed25519').private;
const lists = { masterList: [host(1)], nodeList: [host(2)] };
const own = ['use the key', 'get Secrets'] as const;
const CASES: readonly Case[] = [
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
  { operationId: 'deleteCluster', takes: [['delete']] },
  { operationId: 'getCluster', takes: [['get']] },
  { operationId: 'getLogs', takes: [['get']] },
  { operationId: 'getKubeconfig', takes: [['kubeconfig']] },
  { operationId: 'listClusters', takes: [['list']] },
];
const routeOf = ({ operationId }: Case): Route => {
  const found = routes.find((route) => route.operationId === operationId);
  if (!found) throw new Error(`${operationId} is no route`);
  return found;
};

const tokens = new Map<string, string>();
/** The token of an account that has every right but these. */
async function without(rights: readonly Right[]): Promise<string> {
  const name = rights.join(',');
  const names = Object.keys(RIGHTS) as Right[];
  const rules = names.filter((right) => !rights.includes(right)).map((right) => RIGHTS[right]);
  const token = tokens.get(name) ?? (await world.accountWith(rules));
  tokens.set(name, token);
  return token;
}

const ask = (token: string | undefined, one: Case, name: string) => {
  const { method, path } = routeOf(one);
  const url = path.replace('{region}', 'north').replace('{name}', name);
  return world.call(token, method, `${url}?namespace=${world.namespace}`, one.body);
};

/** Everything that a request could have written, as the API server has it. */
async function written(): Promise<unknown> {
  const { namespace } = world;
  const objects = await Promise.all([
    world.admin.list(KUBERNETES_CLUSTERS, { namespace }),
    world.admin.list(SECRETS, { namespace }),
  ]);
  return objects.map(({ items }) => items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

beforeAll(async () => {
  world = await restWorld();
  const creation: Case = { operationId: 'createCluster', takes: [], body: { ...lists, privateSSHKey } };
  expect((await ask(world.tokens.alice, creation, 'there')).status).toBe(200);
  await world.created('there');
});
afterAll(() => world.stop());

describe('nobody gets what his rights do not give', () => {
  it('is asked of every route', () => {
    const asked = new Set(CASES.map(({ operationId }) => operationId));
    expect(routes.map(({ operationId }) => operationId).filter((id) => !asked.has(id))).toEqual([]);
  });

  it.each(
    CASES.flatMap((one) =>
      one.takes.map(
        (rights) =>
          [one.operationId, Object.keys(one.body ?? {}).join(), rights.join(), one, rights] as const,
      ),
    ),
  )('%s (%s) without the right to %s', async (_id, _body, _right, one, rights) => {
    const before = await written();
    const token = await without(rights);
    const [there, missing] = [await ask(token, one, 'there'), await ask(token, one, 'missing')];
    expect([there.status, there.text]).toEqual([403, expect.stringContaining('may not')]);
    // Who may update a cluster may know whether it exists; nobody else is told.
    const mayKnow = rights === own;
    expect(missing.status).toBe(mayKnow ? 404 : 403);
    const inSameWords = there.text
      .replaceAll('"there\\"', '"missing\\"')
      .replaceAll('\\"there', '\\"missing');
    if (!mayKnow && one.body && 'credentialsSecret' in one.body) expect(missing.text).toBe(there.text);
    else if (!mayKnow) expect(missing.text).toBe(inSameWords);
    expect(await written()).toEqual(before);
  });

  it.each(CASES.map((one) => [one.operationId, one] as const))(
    '%s without a token, or a right at all',
    async (_id, one) => {
      const before = await written();
      for (const name of ['there', 'missing']) {
        expect((await ask(undefined, one, name)).status).toBe(401);
        expect((await ask(world.tokens.mallory, one, name)).status).toBe(403);
      }
      expect(await written()).toEqual(before);
    },
  );

  it('and everybody what they give', async () => {
    const token = await without([]);
    const answers = await Promise.all(
      CASES.filter(({ operationId }) => /^(get|list)/.test(operationId)).map((one) =>
        ask(token, one, 'there'),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 409, 200]);
    const scale = CASES.find(({ operationId }) => operationId === 'scaleUp');
    // Either way to the cluster's own Secret is enough.
    for (const way of own) {
      if (scale)
        expect(
          (await ask(await without([way]), { ...scale, body: { retry: true } }, 'there')).status,
        ).not.toBe(403);
    }
  });
});
