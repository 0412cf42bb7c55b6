import { beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { ABANDON, NETWORKS, type Network, type NetworkSpec } from './api.ts';
import { bridgeNameOf } from './bridges/bridge-name.ts';
import { serve, useNetworks } from './testing/network-world.fixture.ts';

const { test, provider } = useNetworks();

const ssh = (name: string, texts: Record<string, string> = { 'ssh-privatekey': keyPair().private }) =>
  test.client.create<Secret>(SECRETS, { metadata: test.key(name), data: secretData(texts) });
/** Creates a Network whose addresses and host are unique to `n`, so that tests do not collide. */
const make = (name: string, n: number, more: Partial<NetworkSpec> = {}): Promise<Network> =>
  test.client.create<Network>(NETWORKS, {
    metadata: test.key(name),
    spec: {
      cidr: `10.${n}.0.0/24`,
      gateway: `10.${n}.0.1`,
      hosts: [{ ip: `192.0.2.${n}` }],
      credentialsSecret: 'key',
      ...more,
    },
  });
const change = (name: string, spec: Partial<NetworkSpec>) =>
  test.client.patch<Network>(NETWORKS, test.key(name), { spec }, { type: 'merge' });
const find = (name: string) => test.client.find<Network>(NETWORKS, test.key(name));
const ready = async (name: string) => findCondition((await find(name))?.status?.conditions, 'Ready');
const remove = (name: string) => test.client.delete(NETWORKS, test.key(name));
const until = (probe: () => unknown, timeout = 20_000) => expect.poll(probe, { timeout });
const bridgesOn = (n: number) => [...provider.host(`192.0.2.${n}`).bridges.values()];
const addressesOn = (n: number) => bridgesOn(n).flatMap(({ addresses }) => addresses);

beforeAll(async () => {
  await serve(test);
  await ssh('key');
});

describe('a Network', () => {
  it('is created from the example, on each of its hosts', async () => {
    await ssh('example-network-ssh');
    const name = await test.makeExample();
    await until(() => ready(name)).toMatchObject({ status: 'True', reason: 'Synced' });
    const bridge = bridgeNameOf((await find(name))?.metadata.uid ?? '');
    for (const n of [11, 12])
      expect(bridgesOn(n)).toMatchObject([{ name: bridge, cidr: '10.9.0.0/24', addresses: ['10.9.0.1/24'] }]);
    expect((await find(name))?.status).toMatchObject({
      bridge,
      observedGeneration: 1,
      hosts: [
        { ip: '192.0.2.11', reached: true, hostKey: '192.0.2.11 ssh-ed25519 AAAA', address: '10.9.0.1/24' },
        { ip: '192.0.2.12' },
      ],
    });
    await until(() => test.reported()).toContainEqual(
      expect.stringMatching(/^Normal Created: .* on 192.0.2.12/),
    );
    await remove(name);
    await until(() => find(name)).toBeUndefined();
    expect([...bridgesOn(11), ...bridgesOn(12)]).toEqual([]);
  });

  it('follows its spec: other addresses, an added host, a removed host', async () => {
    await make('moves', 20);
    // The record in status must be written first: a change takes the previous addresses from there.
    await until(() => ready('moves')).toMatchObject({ status: 'True' });
    expect(addressesOn(20)).toEqual(['10.20.0.1/24']);
    await change('moves', {
      cidr: '10.20.4.0/22',
      gateway: '10.20.5.9',
      hosts: [{ ip: '192.0.2.20' }, { ip: '192.0.2.21' }],
    });
    await until(() => [...addressesOn(20), ...addressesOn(21)]).toEqual(['10.20.5.9/22', '10.20.5.9/22']);
    await change('moves', { hosts: [{ ip: '192.0.2.21' }] });
    await until(() => addressesOn(20)).toEqual([]);
    await until(async () => (await find('moves'))?.status?.hosts?.map(({ ip }) => ip)).toEqual([
      '192.0.2.21',
    ]);
    expect(addressesOn(21)).toEqual(['10.20.5.9/22']);
    await until(() => test.reported()).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^Normal Changed: .*10\.20\.5\.9\/22 on 192.0.2.20 had 10\.20\.0\.1\/24 before/,
        ),
        expect.stringMatching(/^Normal Removed: .*192.0.2.20/),
      ]),
    );
    await remove('moves');
    await until(() => find('moves')).toBeUndefined();
    expect(addressesOn(21)).toEqual([]);
  });

  it('is repaired when a user removes or changes its bridge on the host', async () => {
    await make('drift', 30);
    await until(() => addressesOn(30)).toHaveLength(1);
    provider.host('192.0.2.30').bridges.clear();
    await until(() => addressesOn(30)).toEqual(['10.30.0.1/24']);
    const [there] = bridgesOn(30);
    if (there) provider.host('192.0.2.30').bridges.set(there.name, { ...there, whole: false });
    await until(() => bridgesOn(30)).toMatchObject([{ whole: true }]);
    await until(() => test.reported()).toContainEqual(
      expect.stringMatching(/^Warning Repaired: .*192.0.2.30/),
    );
    const before = provider.done.length;
    await until(async () => (await ready('drift'))?.status).toBe('True');
    expect(provider.done.slice(before)).toEqual([]);
    await remove('drift');
    await until(() => find('drift')).toBeUndefined();
  });

  it('without hosts is Synced with an Event, and is deleted at once', async () => {
    await make('nowhere', 31, { hosts: undefined });
    await until(() => ready('nowhere')).toMatchObject({ status: 'True', reason: 'Synced' });
    await until(() => test.reported()).toContainEqual(
      expect.stringMatching(/^Normal Synced: spec.hosts names no host/),
    );
    await remove('nowhere');
    await until(() => find('nowhere')).toBeUndefined();
  });
});

describe('addresses that two Networks request on a host', () => {
  it('stay with the first Network; the second one names it, and gets them later', async () => {
    await make('first', 40);
    await until(() => addressesOn(40)).toHaveLength(1);
    await make('second', 41, {
      cidr: '10.40.0.128/25',
      gateway: '10.40.0.129',
      hosts: [{ ip: '192.0.2.40' }],
    });
    await until(() => ready('second')).toMatchObject({
      status: 'False',
      reason: 'CidrOverlap',
      message: expect.stringContaining(`${test.namespace}/first on host 192.0.2.40`),
    });
    await until(() => test.reported()).toContainEqual(
      expect.stringMatching(/^Warning CidrOverlap: .*\/first/),
    );
    // The same addresses on another host are no conflict.
    await make('elsewhere', 42, { cidr: '10.40.0.0/24', gateway: '10.40.0.1' });
    await until(() => addressesOn(42)).toEqual(['10.40.0.1/24']);
    expect(addressesOn(40)).toEqual(['10.40.0.1/24']);
    await remove('first');
    await until(() => addressesOn(40)).toEqual(['10.40.0.129/25']);
    await remove('second');
    await remove('elsewhere');
    await until(() => find('second')).toBeUndefined();
  });

  it('are not configured if the host uses them already', async () => {
    provider.host('192.0.2.43').foreign = [{ link: 'eth0', to: '10.43.0.7/16' }];
    await make('occupied', 43);
    await until(() => ready('occupied')).toMatchObject({
      reason: 'AddressInUse',
      message: expect.stringContaining('10.43.0.7/16 of eth0'),
    });
    expect(addressesOn(43)).toEqual([]);
    await remove('occupied');
    await until(() => find('occupied')).toBeUndefined();
  });
});

describe('a host that fails', () => {
  it.each([
    ['Unreachable', { away: 'Unreachable' }],
    ['HostKeyChanged', { away: 'HostKeyChanged' }],
    ['HostConflict', { refuses: 'HostConflict' }],
  ] as const)('is named with the reason, and does not block other hosts: %s', async (reason, how) => {
    Object.assign(provider.host('192.0.2.50'), { away: undefined, refuses: undefined }, how);
    await make('partly', 50, { hosts: [{ ip: '192.0.2.50' }, { ip: '192.0.2.51' }] });
    await until(() => ready('partly')).toMatchObject({ status: 'False', reason, message: /192\.0\.2\.50/ });
    expect(addressesOn(51)).toEqual(['10.50.0.1/24']);
    expect((await find('partly'))?.status?.hosts?.[0]?.message).toContain('192.0.2.50');
    // Nothing was created there, so it blocks no other Network.
    await remove('partly');
    await until(() => find('partly')).toBeUndefined();
    expect(addressesOn(51)).toEqual([]);
  });

  it('is cleaned with the Secret that was read last, if the Secret is deleted first', async () => {
    await ssh('short-lived');
    await make('orphaned', 63, { credentialsSecret: 'short-lived' });
    await until(() => addressesOn(63)).toHaveLength(1);
    await test.client.delete(SECRETS, test.key('short-lived'));
    await until(() => ready('orphaned')).toMatchObject({ reason: 'CredentialsMissing' });
    await remove('orphaned');
    await until(() => find('orphaned')).toBeUndefined();
    expect(addressesOn(63)).toEqual([]);
  });

  it('blocks a deletion until it is clean, or until it is abandoned by annotation', async () => {
    for (const name of ['waits', 'leaves']) await make(name, name === 'waits' ? 60 : 61);
    await until(() => [...addressesOn(60), ...addressesOn(61)]).toHaveLength(2);
    for (const ip of ['192.0.2.60', '192.0.2.61']) provider.host(ip).away = 'Unreachable';
    for (const name of ['waits', 'leaves']) await remove(name);
    for (const name of ['waits', 'leaves'])
      await until(() => ready(name)).toMatchObject({
        reason: 'Unreachable',
        message: expect.stringContaining(ABANDON),
      });
    const metadata = { annotations: { [ABANDON]: '192.0.2.61' } };
    await test.client.patch(NETWORKS, test.key('leaves'), { metadata }, { type: 'merge' });
    await until(() => find('leaves')).toBeUndefined();
    await until(() => test.reported()).toContainEqual(
      expect.stringMatching(/^Warning Abandoned: 192.0.2.61/),
    );
    provider.host('192.0.2.60').away = undefined;
    await until(() => find('waits')).toBeUndefined();
    expect(addressesOn(60)).toEqual([]);
    // An abandoned bridge is removed when another Network comes to that host.
    provider.host('192.0.2.61').away = undefined;
    await make('later', 62, { hosts: [{ ip: '192.0.2.61' }] });
    await until(() => addressesOn(61)).toEqual(['10.62.0.1/24']);
    await until(() => test.reported()).toContainEqual(expect.stringMatching(/^Normal Swept: .*192.0.2.61/));
    await remove('later');
    await until(() => find('later')).toBeUndefined();
  });
});
