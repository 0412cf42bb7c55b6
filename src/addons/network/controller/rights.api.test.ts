import { beforeAll, describe, expect, it, vi } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { NETWORKS, type Network, type NetworkSpec } from '../api.ts';
import { serve, useNetworks } from '../testing/network-world.fixture.ts';

/** Tests who may use a Secret through the controller, which Secrets it reads, and which specs the API server refuses. */
const rbac = (kind: string): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});
const { test } = useNetworks();
const SPEC: NetworkSpec = { cidr: '10.9.0.0/24', gateway: '10.9.0.1', hosts: [{ ip: '192.0.2.1' }] };
const make = (name: string, more: object = {}, client: Client = test.client) =>
  client.create<Network>(NETWORKS, { metadata: test.key(name), spec: { ...SPEC, ...more } });
const change = (name: string, spec: object, client: Client) =>
  client.patch<Network>(NETWORKS, test.key(name), { spec }, { type: 'merge' });
const ready = async (name: string) =>
  findCondition((await test.client.get<Network>(NETWORKS, test.key(name))).status?.conditions, 'Ready');
const until = (probe: () => unknown) => expect.poll(probe, { timeout: 20_000 });

/** Returns a client whose account has only these rights in the namespace. */
async function somebody(name: string, rules: readonly object[]): Promise<Client> {
  const key = test.key(name);
  await test.client.create(SERVICE_ACCOUNTS, { metadata: key });
  const role: KubeObject & Record<string, unknown> = { metadata: key, rules };
  const binding: KubeObject & Record<string, unknown> = {
    metadata: key,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', ...key }],
  };
  await test.client.create(rbac('Role'), role);
  await test.client.create(rbac('RoleBinding'), binding);
  const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const path = `/api/v1/namespaces/${test.namespace}/serviceaccounts/${name}/token`;
  const answer = await test.client.request('POST', path, asked);
  const token = JSON.stringify(answer).match(/"token":"([^"]+)"/)?.[1] ?? '';
  const headers = () => ({ authorization: `Bearer ${token}` });
  return createClient({ ...test.endpoint, tls: () => test.endpoint.tls(), headers }, { userAgent: name });
}
const networking = {
  apiGroups: [NETWORKS.group],
  resources: ['networks'],
  verbs: ['create', 'patch', 'get'],
};
const reading = (...resourceNames: string[]) => ({
  ...{ apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames },
});

describe('the Secret of a Network', () => {
  let alice: Client;
  let bob: Client;
  beforeAll(async () => {
    alice = await somebody('alice', [networking, reading('key')]);
    bob = await somebody('bob', [networking]);
    await test.client.create<Secret>(SECRETS, {
      metadata: test.key('key'),
      data: secretData({ 'ssh-privatekey': keyPair().private }),
    });
    // Policies take effect some moments after their creation.
    const tried: Network = { metadata: test.key('tried'), spec: { ...SPEC, credentialsSecret: 'key' } };
    await vi.waitFor(
      () => expect(bob.create(NETWORKS, tried, { dryRun: true })).rejects.toThrow('may not get'),
      { timeout: 60_000 },
    );
    return async () => void (await Promise.all([alice.close(), bob.close()]));
  });

  it('is used only for users who may get it', async () => {
    await expect(make('bobs', { credentialsSecret: 'key' }, bob)).rejects.toThrow(
      /user ".*:bob" may not get secrets "key" in namespace/,
    );
    await expect(make('alices', {}, alice)).rejects.toThrow(/may not get secrets "alices-ssh"/);
    await expect(make('alices', { credentialsSecret: 'key' }, alice)).resolves.toBeDefined();
  });

  it('is not used for other hosts or settings by a user who may not get it', async () => {
    await make('hers', { credentialsSecret: 'key' }, alice);
    for (const spec of [{ hosts: [{ ip: '198.51.100.7' }] }, { gateway: '10.9.0.2' }])
      await expect(change('hers', spec, bob)).rejects.toThrow(/may not get secrets "key"/);
    await expect(make('empty', { hosts: [] }, bob)).resolves.toBeDefined();
    await expect(change('empty', { hosts: SPEC.hosts, credentialsSecret: 'key' }, bob)).rejects.toThrow(
      /may not get secrets "key"/,
    );
    // Hosts that the spec no longer names are cleaned with this Secret.
    await expect(change('hers', { hosts: null, credentialsSecret: 'other' }, bob)).rejects.toThrow(
      /may not get secrets "other"/,
    );
    await expect(change('hers', { hosts: null, credentialsSecret: null }, bob)).rejects.toThrow(
      /may not get secrets "hers-ssh"/,
    );
    // The spec stays the same, or no longer uses the Secret.
    const metadata = { labels: { some: 'label' } };
    await bob.patch(NETWORKS, test.key('hers'), { metadata }, { type: 'merge' });
    await change('hers', { hosts: null }, bob);
  });

  it('is read by the controller only in served namespaces', async () => {
    const network = { cidr: '10.7.0.0/24', gateway: '10.7.0.1' };
    await make('unserved', { ...network, credentialsSecret: 'key' });
    await until(() => ready('unserved')).toMatchObject({
      status: 'False',
      reason: 'NamespaceNotServed',
      message: expect.stringContaining('matryoshka-network-served-namespace'),
    });
    await serve(test);
    await until(() => ready('unserved')).toMatchObject({ status: 'True' });
  });

  it('is reported if it is missing, or lacks a key', async () => {
    const hosts = [{ ip: '192.0.2.2' }];
    await make('lacks', { hosts, cidr: '10.8.0.0/24', gateway: '10.8.0.1' });
    await until(() => ready('lacks')).toMatchObject({
      reason: 'CredentialsMissing',
      message: expect.stringContaining('no Secret "lacks-ssh"'),
    });
    const data = secretData({ 'ssh-privatekey': '' });
    await test.client.create<Secret>(SECRETS, { metadata: test.key('lacks-ssh'), data });
    await until(() => ready('lacks')).toMatchObject({
      message: expect.stringContaining('neither ssh-privatekey nor password'),
    });
    await test.client.delete(NETWORKS, test.key('lacks'));
    await until(() => test.client.find(NETWORKS, test.key('lacks'))).toBeUndefined();
  });
});

it('the token of the controller changes only finalizers and status of a Network', async () => {
  await make('held', { hosts: [], cidr: '10.6.0.0/24', gateway: '10.6.0.1' });
  const client = await test.clientAs('matryoshka-network');
  try {
    const patch = (body: object) =>
      client.patch(NETWORKS, test.key('held'), body, { type: 'merge', dryRun: true });
    const why = /nothing of a Network but its finalizers and status/;
    // Policies take effect some moments after their creation.
    await vi.waitFor(() => expect(patch({ spec: { gateway: '10.6.0.2' } })).rejects.toThrow(why), 60_000);
    for (const metadata of [{ labels: { a: 'b' } }, { annotations: { a: 'b' } }])
      await expect(patch({ metadata })).rejects.toThrow(why);
    await expect(patch({ metadata: { finalizers: ['some.io/other'] } })).resolves.toBeDefined();
  } finally {
    await client.close();
  }
});

it('only the controller writes the status of a Network', async () => {
  await make('told', { hosts: [], cidr: '10.5.0.0/24', gateway: '10.5.0.1' });
  const client = await test.clientAs('matryoshka-network');
  try {
    const status = { hosts: [{ ip: '198.51.100.7', reached: true }] };
    const report = async (by: Client) => {
      const found = await test.client.get<Network>(NETWORKS, test.key('told'));
      return by.updateStatus<Network>(
        NETWORKS,
        { ...found, status: { ...found.status, ...status } },
        { dryRun: true },
      );
    };
    const why = /only the controller of Networks writes their status/;
    // Policies take effect some moments after their creation.
    await vi.waitFor(() => expect(report(test.client)).rejects.toThrow(why), 60_000);
    await until(() => report(client).then(() => 'let in', String)).toBe('let in');
  } finally {
    await client.close();
  }
});

describe('bad input', () => {
  it.each<[string, object, RegExp]>([
    ['no network', { cidr: '10.9.0' }, /spec\.cidr.*must be an IPv4 network/],
    ['IPv6', { cidr: 'fd00::/64', gateway: 'fd00::1' }, /spec\.cidr.*IPv6 is not offered yet/],
    ['host bits', { cidr: '10.9.0.7/24' }, /spec\.cidr.*no bits set behind its prefix/],
    ['all addresses', { cidr: '0.0.0.0/0' }, /spec\.cidr.*prefix of \/8 to \/30/],
    ['one address', { cidr: '10.9.0.1/32' }, /spec\.cidr.*prefix of \/8 to \/30/],
    ['loopback', { cidr: '127.1.0.0/16', gateway: '127.1.0.1' }, /spec\.cidr.*must be addresses of hosts/],
    [
      'link-local',
      { cidr: '169.254.7.0/24', gateway: '169.254.7.1' },
      /spec\.cidr.*must be addresses of hosts/,
    ],
    ['link-local among others', { cidr: '169.0.0.0/8', gateway: '169.0.0.1' }, /spec\.cidr.*link-local/],
    ['link-local and one more', { cidr: '169.254.0.0/15', gateway: '169.254.0.1' }, /spec\.cidr.*link-local/],
    ['multicast', { cidr: '239.1.0.0/16', gateway: '239.1.0.1' }, /spec\.cidr.*must be addresses of hosts/],
    ['a gateway that is none', { gateway: 'router' }, /spec\.gateway.*must be an IPv4 address/],
    ['a gateway elsewhere', { gateway: '10.10.0.1' }, /spec\.gateway.*within spec\.cidr/],
    ['the network as gateway', { gateway: '10.9.0.0' }, /spec\.gateway.*the network itself/],
    ['broadcast as gateway', { gateway: '10.9.0.255' }, /spec\.gateway.*broadcast/],
    ['broadcast of /22', { cidr: '10.9.4.0/22', gateway: '10.9.7.255' }, /spec\.gateway.*broadcast/],
    ['broadcast of /9', { cidr: '10.128.0.0/9', gateway: '10.255.255.255' }, /spec\.gateway.*broadcast/],
    ['the network of /30', { cidr: '10.9.0.4/30', gateway: '10.9.0.4' }, /the network itself/],
    ['a host that is no address', { hosts: [{ ip: 'node1' }] }, /spec\.hosts\[0\]\.ip.*IP address/],
    ['a host twice', { hosts: [{ ip: '192.0.2.1' }, { ip: '192.0.2.1' }] }, /spec\.hosts\[1\].*Duplicate/],
    ['a user who is none', { hosts: [{ ip: '192.0.2.1', user: 'a;b' }] }, /spec\.hosts\[0\]\.user/],
  ])('is refused with its field: %s', async (_what, more, says) => {
    await expect(make('bad', more)).rejects.toThrow(says);
  });

  it.each([
    ['10.9.4.0/22', '10.9.4.255'],
    ['10.9.4.0/22', '10.9.5.0'],
    ['10.128.0.0/9', '10.200.255.255'],
    ['10.0.0.0/8', '10.0.0.1'],
    ['192.168.7.252/30', '192.168.7.254'],
    ['169.252.0.0/15', '169.252.0.1'],
  ])('in network %s does not include gateway %s', async (cidr, gateway) => {
    const made = make('good', { cidr, gateway, hosts: [] });
    await expect(made).resolves.toBeDefined();
    await test.client.delete(NETWORKS, test.key('good'));
    await until(() => test.client.find(NETWORKS, test.key('good'))).toBeUndefined();
  });
});
