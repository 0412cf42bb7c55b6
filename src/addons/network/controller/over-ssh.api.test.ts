import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { NETWORKS, type Network, type NetworkSpec } from '../api.ts';
import { type BridgeHost, bridgeHost, lackOfHosts } from '../bridges/testing/bridge-host.ts';
import { serve, useNetworks } from '../testing/network-world.fixture.ts';

/** Tests the way from an object in a real API server to a bridge of a real kernel, over SSH and through the fence. */
const lack = await lackOfHosts();
const { test } = useNetworks({ overSsh: true });
let host: BridgeHost;
beforeAll(async () => {
  if (lack !== undefined) return;
  host = await bridgeHost();
  await serve(test);
  const data = secretData({ username: 'root', password: host.place.password });
  await test.client.create<Secret>(SECRETS, { metadata: test.key('key'), data });
});
afterAll(() => host?.[Symbol.asyncDispose]());

const make = (name: string, spec: Pick<NetworkSpec, 'cidr' | 'gateway'>) => {
  const { ip, port } = host.place;
  return test.client.create<Network>(NETWORKS, {
    metadata: test.key(name),
    spec: { ...spec, hosts: [{ ip, port }], credentialsSecret: 'key' },
  });
};
const find = (name: string) => test.client.find<Network>(NETWORKS, test.key(name));
const ready = async (name: string) => findCondition((await find(name))?.status?.conditions, 'Ready');
const until = (probe: () => unknown) => expect.poll(probe, { timeout: 60_000, interval: 200 });
const bridges = async () => {
  const text = await host.sh(`ip -o -4 addr show | awk '$2 ~ /^mxn-/ { print $4 }'`);
  return text.split('\n').filter((line) => line !== '');
};

describe.skipIf(lack !== undefined)(`Networks over SSH${lack ? ` (this machine lacks ${lack})` : ''}`, () => {
  it('are created beside each other, repaired, changed, and leave no trace', async () => {
    await make('first', { cidr: '10.9.0.0/24', gateway: '10.9.0.1' });
    await until(() => ready('first')).toMatchObject({ status: 'True' });
    expect(await bridges()).toEqual(['10.9.0.1/24']);
    expect((await find('first'))?.status?.hosts?.[0]?.hostKey).toMatch(/ ssh-ed25519 /);
    expect(JSON.parse(await host.text('etc/matryoshka/owner.json'))).toMatchObject({
      clusterId: expect.stringMatching(/^networks-[a-z0-9]{10}$/),
      released: false,
    });

    await make('second', { cidr: '10.10.0.0/16', gateway: '10.10.3.1' });
    await make('third', { cidr: '192.0.2.0/25', gateway: '192.0.2.1' });
    await until(() => ready('second')).toMatchObject({ status: 'True' });
    await until(() => ready('third')).toMatchObject({
      reason: 'AddressInUse',
      message: expect.stringContaining('192.0.2.10/24 of uplink'),
    });
    await host.sh(`ip link delete ${(await find('first'))?.status?.bridge}`);
    await until(async () => (await bridges()).sort()).toEqual(['10.10.3.1/16', '10.9.0.1/24']);
    await until(() => test.reported()).toContainEqual(
      expect.stringMatching(/^Warning Repaired: .*10\.9\.0\.1/),
    );

    const spec = { cidr: '10.19.0.0/24', gateway: '10.19.0.1' };
    await test.client.patch(NETWORKS, test.key('second'), { spec }, { type: 'merge' });
    await until(async () => (await bridges()).sort()).toEqual(['10.19.0.1/24', '10.9.0.1/24']);

    for (const name of ['first', 'second', 'third']) await test.client.delete(NETWORKS, test.key(name));
    for (const name of ['first', 'second', 'third']) await until(() => find(name)).toBeUndefined();
    expect(await bridges()).toEqual([]);
    expect(await host.sh('nft list ruleset; sysctl -n net.ipv4.ip_forward')).toBe('0');
    expect(JSON.parse(await host.text('etc/matryoshka/owner.json'))).toMatchObject({ released: true });
  }, 240_000);
});
