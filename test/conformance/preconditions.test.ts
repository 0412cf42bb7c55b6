import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { clusterHostsOf } from '#api/cluster-host.ts';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { HOSTS, type HostRecord, hostRecordName } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { annotations, clusterStateName } from '#api/names.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { perform } from '#controller/cluster/effects/perform.ts';
import { observe } from '#controller/cluster/observe.ts';
import { clusterStatesIn } from '#controller/cluster/state/cluster-state.ts';
import { hostsIn } from '#controller/cluster/state/hosts.ts';
import { createKubeconfigs } from '#controller/cluster/state/kubeconfigs.ts';
import { writeStatus } from '#controller/cluster/status.ts';
import { scriptedInstaller } from '#installer/testing/scripted-installer.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { type Client, clientOver } from '#runtime/client/client.ts';
import { isConflict } from '#runtime/wire/api-error.ts';
import { type Ground, groundOn } from '../worlds/ground.ts';

/** Other writes between a read of the controller and its write: the controller overwrites none of them. */
const namespace = `meanwhile-${randomUUID().slice(0, 8)}`;
const { installer } = scriptedInstaller();
const noPlan = (sequence: number) => ({
  sequence,
  hosts: [],
  release: [],
  steps: [],
  hooks: [],
  refusals: [],
});
const KEY = `${keyPair().private.trim()}\n`;
let ground: Ground;
let client: Client;

beforeAll(async () => {
  ground = await groundOn(inject('kubeconfigPath'));
  client = ground.client;
  await client.create(NAMESPACES, { metadata: { name: namespace } });
  await client.create(SECRETS, {
    metadata: { namespace, name: 'keys' },
    data: secretData({ username: 'root', 'ssh-privatekey': KEY }),
  } satisfies KubeObject & { data: Record<string, string> });
});
afterAll(async () => {
  await client.delete(NAMESPACES, { namespace: '', name: namespace });
  await ground.leave();
});

/** Returns a client that runs `meanwhile` before its first call of `method`. */
function interrupted(method: string, meanwhile: () => Promise<unknown>): Client {
  let open = true;
  return clientOver({
    ...client.caller,
    async call(request) {
      if (open && request.method === method) {
        open = false;
        await meanwhile();
      }
      return client.caller.call(request);
    },
  });
}

/** Returns a cluster as the controller read it before a user made a request. */
async function outdated(name: string) {
  const made = await client.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    metadata: { namespace, name },
    spec: { cluster: { masterList: [{ ip: '10.250.0.1' }], credentialsSecret: 'keys' } },
  });
  const asked = { metadata: { annotations: { [annotations.operation]: 'creating' } } };
  await client.patch(KUBERNETES_CLUSTERS, { namespace, name }, asked, { type: 'merge' });
  return observe(made, {
    client,
    clock: systemClock,
    offer: { versions: ['v1.34.4'] },
    clusterStates: clusterStatesIn(client, namespace),
    installer,
    kubeconfigs: createKubeconfigs(systemClock),
    hostsOf: () => [],
    recordAt: () => undefined,
    healthOf: () => ({ kind: 'off' as const }),
    turnOf: () => ({ kind: 'now' as const }),
  });
}

it('a status write conflicts with an operation annotation that was set meanwhile', async () => {
  const snapshot = await outdated('status');
  const stall = { reason: 'NotOffered', message: 'decided upon the past' };
  await expect(writeStatus(client, snapshot, { kind: 'rest', stall })).rejects.toSatisfy(isConflict);
});

const performers = () => ({
  client,
  clusterStates: clusterStatesIn(client, namespace),
  hosts: hostsIn(client, namespace),
  installer,
  kubeconfigs: createKubeconfigs(systemClock),
  log: createLogger('silent'),
  records: () => [],
  metaNodes: async () => [],
  snapshotAccess: async () => {
    throw new Error('no test saves a snapshot');
  },
  event: () => {},
});

it('a result annotation conflicts with an operation annotation that was set meanwhile', async () => {
  const snapshot = await outdated('word');
  const answer = perform(
    [{ kind: 'answer', word: 'create-finished', applied: false }],
    snapshot,
    performers(),
  );
  await expect(answer).rejects.toSatisfy(isConflict);
});

it('an approved plan is refused if hosts have remains that it does not list', async () => {
  const snapshot = await outdated('agreed');
  const clusterHosts = [...clusterHostsOf({ nodeList: [{ ip: '10.250.0.7' }] }).values()];
  const hosts = hostsIn(client, namespace);
  await hosts.hold('former', 'n/former', clusterHosts);
  await hosts.note('former', '10.250.0.7', { state: 'Unclean', touched: true });
  const under = (agreed: { plan?: string }) => {
    const { spec } = snapshot.cluster;
    const operation = {
      ...{
        id: 'x',
        name: 'create' as const,
        sequence: 1,
        attempt: 1,
        word: 'creating',
        requestId: '',
        specHash: '',
      },
      ...{ step: 'starting', startedAt: '', generation: 1, spec, ...agreed },
    };
    return perform(
      [{ kind: 'hold', hosts: clusterHosts }],
      { ...snapshot, operation, plan: noPlan(1) },
      performers(),
    );
  };
  await expect(under({ plan: 'hash' })).rejects.toMatchObject({
    reason: 'PlanChanged',
    message: expect.stringContaining('cluster former has left on 10.250.0.7'),
  });
  await under({});
});

it('a Host record that another cluster took meanwhile is not released', async () => {
  const [host] = [...clusterHostsOf({ nodeList: [{ ip: '10.250.0.2' }] }).values()];
  if (!host) throw new Error('there is no host');
  const hosts = hostsIn(client, namespace);
  await hosts.hold('first', 'n/first', [host]);
  const late = interrupted('DELETE', async () => {
    await hosts.release('first', [host.ip]);
    await hosts.hold('second', 'n/second', [host]);
  });
  await expect(hostsIn(late, namespace).release('first', [host.ip])).rejects.toSatisfy(isConflict);
  const record = await client.get<HostRecord>(HOSTS, { namespace, name: hostRecordName(host.ip) });
  expect(record.spec.clusterId).toBe('second');
});

it('a host of another cluster is refused; its holder is named only within the namespace', async () => {
  const clusterHosts = [
    ...clusterHostsOf({ nodeList: [{ ip: '10.250.0.3' }, { ip: '10.250.0.4' }] }).values(),
  ];
  const hosts = hostsIn(client, namespace);
  await hosts.hold('first', 'n/first', clusterHosts);
  const message = '10.250.0.3 belongs to n/first; 10.250.0.4 belongs to n/first';
  await expect(hosts.hold('second', 'n/second', clusterHosts)).rejects.toMatchObject({
    reason: 'HostConflict',
    message,
  });
  const withheld = '10.250.0.3 belongs to a cluster of another namespace';
  const [one] = clusterHosts;
  await expect(hosts.refuseOthers('third', 'o/third', one ? [one] : [])).rejects.toMatchObject({
    reason: 'HostConflict',
    message: withheld,
  });
});

it('an unclean host is taken by one cluster only, and belongs to that cluster at once', async () => {
  const ip = '10.250.0.6';
  const clusterHosts = [...clusterHostsOf({ nodeList: [{ ip }] }).values()];
  const hosts = hostsIn(client, namespace);
  await hosts.hold('first', 'n/first', clusterHosts);
  await hosts.note('first', ip, { state: 'Unclean', touched: true });
  const [taken] = await hosts.hold('second', 'n/second', clusterHosts);
  expect(taken).toMatchObject({ spec: { clusterId: 'second', reclaim: 'first' }, status: { taken: true } });
  const message = `${ip} belongs to n/second`;
  const refusal = { reason: 'HostConflict', message };
  await expect(hosts.hold('third', 'n/third', clusterHosts)).rejects.toMatchObject(refusal);
  await expect(hosts.refuseOthers('third', 'n/third', clusterHosts)).rejects.toMatchObject(refusal);
  // The host belongs to its cluster again, after another reset of it failed.
  await hosts.note('second', ip, { state: 'Unclean', taken: false });
  await hosts.hold('second', 'n/second', clusterHosts);
  await expect(hosts.hold('third', 'n/third', clusterHosts)).rejects.toMatchObject(refusal);
});

it('a host whose address another machine answers is taken without a reclaim', async () => {
  const ip = '10.250.0.8';
  const clusterHosts = [...clusterHostsOf({ nodeList: [{ ip }] }).values()];
  const hosts = hostsIn(client, namespace);
  await hosts.hold('first', 'n/first', clusterHosts);
  await hosts.note('first', ip, { state: 'Lost', touched: true });
  const [taken] = await hosts.hold('second', 'n/second', clusterHosts);
  expect(taken).toMatchObject({ spec: { clusterId: 'second' }, status: { taken: true } });
  expect(taken?.spec.reclaim).toBeUndefined();
});

it('a Host record follows the spec until the host has joined', async () => {
  const asWorker = [...clusterHostsOf({ nodeList: [{ ip: '10.250.0.5', name: 'old' }] }).values()];
  const asMaster = [...clusterHostsOf({ masterList: [{ ip: '10.250.0.5', name: 'new' }] }).values()];
  const hosts = hostsIn(client, namespace);
  await hosts.hold('first', 'n/first', asWorker);
  const [changed] = await hosts.hold('first', 'n/first', asMaster);
  expect(changed?.spec).toMatchObject({ name: 'new', duties: ['control-plane', 'etcd'] });
  await hosts.note('first', '10.250.0.5', { state: 'Joined' });
  const [same] = await hosts.hold('first', 'n/first', asWorker);
  expect(same?.spec.name).toBe('new');
});

it('a sequence is not taken twice', async () => {
  const { cluster } = await outdated('sequence');
  const clusterStates = clusterStatesIn(client, namespace);
  await clusterStates.bind('id-sequence', { namespace, name: 'sequence' });
  const late = interrupted('PATCH', () => clusterStates.takeSequence('id-sequence', cluster, noPlan));
  await expect(
    clusterStatesIn(late, namespace).takeSequence('id-sequence', cluster, noPlan),
  ).rejects.toSatisfy(isConflict);
  expect(await clusterStates.takeSequence('id-sequence', cluster, noPlan)).toBe(2);
});

it('the cluster state Secret drops a removed password, except for a deletion', async () => {
  const { cluster } = await outdated('forgetful');
  const clusterStates = clusterStatesIn(client, namespace);
  await clusterStates.bind('id-forgetful', { namespace, name: 'forgetful' });
  const give = (data: Record<string, string>) =>
    client.patch(SECRETS, { namespace, name: 'keys' }, { data }, { type: 'merge' });
  const after = async (one: KubernetesCluster) => {
    await clusterStates.takeSequence('id-forgetful', one, noPlan);
    return clusterStates.accessOf('id-forgetful');
  };
  await give(secretData({ username: 'ops', password: ' open sesame\n' }));
  expect(await after(cluster)).toMatchObject({ username: 'ops', privateKey: KEY, password: 'open sesame' });
  const taken = { data: { username: null, password: null } };
  await client.patch(SECRETS, { namespace, name: 'keys' }, taken, { type: 'merge' });
  const going = {
    ...cluster,
    metadata: { ...cluster.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
  expect(await after(going)).toHaveProperty('password');
  expect(await after(going)).toHaveProperty('username', 'root');
  expect(await after(cluster)).not.toHaveProperty('password');
  await give(secretData({ username: 'other', 'ssh-privatekey': '' }));
  expect(await after(going)).toMatchObject({ username: 'root', privateKey: KEY });
  await expect(after(cluster)).rejects.toMatchObject({
    reason: 'CredentialsMissing',
    message: expect.stringMatching(/^Secret keys .* has neither ssh-privatekey nor password$/),
  });
  await give(secretData({ 'ssh-privatekey': KEY }));
});

it('a sequence is taken from the cache, or from the server if the cache is behind', async () => {
  const { cluster } = await outdated('cached');
  const clusterStates = clusterStatesIn(client, namespace);
  await clusterStates.bind('id-cached', { namespace, name: 'cached' });
  const cached = await client.get<Secret>(SECRETS, { namespace, name: clusterStateName('id-cached') });
  let checks = 0;
  const counted = clientOver({
    ...client.caller,
    call: (request) => {
      if (request.method === 'GET' && request.path.endsWith(clusterStateName('id-cached'))) checks += 1;
      return client.caller.call(request);
    },
  });
  const fromCache = clusterStatesIn(counted, namespace, () => cached);
  expect(await fromCache.takeSequence('id-cached', cluster, noPlan)).toBe(1);
  expect(checks).toBe(0);
  expect(await fromCache.takeSequence('id-cached', cluster, noPlan)).toBe(2);
  expect(checks).toBe(1);
});
