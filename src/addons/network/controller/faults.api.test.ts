import { beforeAll, expect, it, vi } from 'vitest';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import type { Client } from '#runtime/client/client.ts';
import { useAddon } from '../../testing/addon-world.fixture.ts';
import {
  beginLife,
  FATES,
  type Fate,
  type Lived,
  livesThat,
  type Mortal,
} from '../../testing/every-write.fixture.ts';
import { network, networkModule } from '../addon.ts';
import { NETWORKS, type Network, type NetworkSpec } from '../api.ts';
import type { Ground, Provider } from '../bridges/provider.ts';
import { memoryProvider } from '../bridges/testing/memory-provider.ts';
import { serve } from '../testing/network-world.fixture.ts';

/**
 * Runs a scenario in which the controller dies before or after each of its writes, to the API server and to hosts, or in
 * which the answer to each is lost. A new controller takes over, and the end is always the same.
 */
const [A, B] = ['192.0.2.1', '192.0.2.2'];
const test = useAddon({ ...network, module: () => [] });
let client: Client;

beforeAll(async () => {
  await serve(test);
  await test.client.create<Secret>(SECRETS, {
    metadata: test.key('key'),
    data: secretData({ 'ssh-privatekey': keyPair().private }),
  });
  client = await test.clientAs('matryoshka-network');
  return () => client.close();
});

/** Runs a whole scenario. `told`: the faults found in it. */
async function live(name: string, fate?: Fate): Promise<Lived> {
  const memory = memoryProvider();
  const reported: string[] = [];
  const onRecord = async (ip: string) => {
    const { status } = await test.client.get<Network>(NETWORKS, test.key(name));
    if (!status?.hosts?.some((host) => host.ip === ip && host.reached))
      reported.push(`${ip} is not on record`);
  };
  const providerOf = ({ write }: Mortal): Provider => ({
    async reach(place) {
      const ground = await memory.reach(place);
      const session: Ground['session'] = (work) =>
        ground.session((inner) =>
          work({
            seen: inner.seen,
            async put(bridge) {
              await onRecord(place.ip);
              await write(`put ${place.ip}`, () => inner.put(bridge));
            },
            remove: (bridge) => write(`remove ${place.ip}`, () => inner.remove(bridge)),
          }),
        );
      return { ...ground, session };
    },
  });
  await using life = beginLife({
    client,
    namespace: test.namespace,
    fate,
    sight: () => ({ selection: { namespace: test.namespace, fieldSelector: `metadata.name=${name}` } }),
    module: (process) => networkModule({ provider: providerOf(process), resyncMs: 100 }),
  });

  const key = test.key(name);
  const spec: NetworkSpec = {
    ...{ cidr: '10.9.0.0/24', gateway: '10.9.0.1', hosts: [{ ip: A }], credentialsSecret: 'key' },
  };
  const change = (more: Partial<NetworkSpec>) =>
    test.client.patch<Network>(NETWORKS, key, { spec: more }, { type: 'merge' });
  const addresses = (ip: string) =>
    [...memory.host(ip).bridges.values()].flatMap((one) => one.addresses).join();
  const until = (holds: () => boolean | Promise<boolean>) =>
    vi.waitFor(async () => expect(await holds()).toBe(true), { timeout: 60_000, interval: 30 });
  const isQuiet = async (hosts: readonly string[]) => {
    const { status } = await test.client.get<Network>(NETWORKS, key);
    const ready = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
    return ready === true && status?.hosts?.map(({ ip }) => ip).join() === hosts.join();
  };
  await test.client.create<Network>(NETWORKS, { metadata: key, spec });
  await until(async () => addresses(A) === '10.9.0.1/24' && (await isQuiet([A])));
  await change({ gateway: '10.9.0.2', hosts: [{ ip: A }, { ip: B }] });
  await until(async () => [A, B].every((ip) => addresses(ip) === '10.9.0.2/24') && (await isQuiet([A, B])));
  await change({ hosts: [{ ip: B }] });
  await until(async () => addresses(A) === '' && addresses(B) === '10.9.0.2/24' && (await isQuiet([B])));
  for (const one of await life.writesAtRest()) reported.push(`${one} though nothing was to be done`);
  await test.client.delete(NETWORKS, key);
  await until(async () => (await test.client.find(NETWORKS, key)) === undefined);
  if (addresses(A) + addresses(B) !== '') reported.push('something is left on a host');
  return { writes: life.writes, isMet: life.isMet, reported };
}

it.each(FATES)(
  'the scenario has the same end whichever write the controller %s',
  async (kind) => {
    const { met, wrong } = await livesThat(kind, live);
    expect(wrong).toEqual([]);
    // At least: finalizer, record, bridge, status; changes on two hosts; removal; removal and release.
    expect(met).toBeGreaterThanOrEqual(12);
  },
  300_000,
);
