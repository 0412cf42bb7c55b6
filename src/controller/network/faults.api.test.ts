import pMap from 'p-map';
import { beforeAll, expect, it, vi } from 'vitest';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { NETWORKS, type Network, type NetworkSpec } from '#api/network.ts';
import { createLogger } from '#base/log.ts';
import type { Ground, Provider } from '#bridges/provider.ts';
import { memoryProvider } from '#bridges/testing/memory-provider.ts';
import type { InformerView } from '#installer/installer.ts';
import { type Client, clientOver } from '#runtime/client/client.ts';
import { createManager } from '#runtime/process/manager.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import { useNeighbour } from '../testing/neighbour-world.fixture.ts';
import { quietHost } from '../testing/quiet-host.fixture.ts';
import { network, networkModule } from './module.ts';
import { serve } from './network-world.fixture.ts';

/**
 * A life in which the controller dies before or after each of its writes, to the API server and to hosts, or in which the
 * answer to each is lost: another goes on, and the life ends the same.
 */
const AT_ONCE = 6;
const [A, B] = ['192.0.2.1', '192.0.2.2'];
const test = useNeighbour({ ...network, module: () => [] });
let client: Client;

beforeAll(async () => {
  await serve(test);
  await test.client.create<Secret>(SECRETS, {
    metadata: test.key('key'),
    data: secretData({ 'ssh-privatekey': 'K' }),
  });
  client = await test.clientAs('matryoshka-network');
  return () => client.close();
});

type Kind = 'dies before' | 'dies after' | 'loses the answer to';
interface Fate {
  kind: Kind;
  nth: number;
}

/** A life with all its calls. `told`: what was wrong in it. */
async function live(name: string, fate?: Fate): Promise<{ writes: string[]; told: string[] }> {
  const memory = memoryProvider();
  const writes: string[] = [];
  const told: string[] = [];
  let dying = new AbortController();

  /** One write; after its death a process makes none. */
  async function write<T>(what: string, act: () => Promise<T>): Promise<T> {
    const mine = dying;
    const gone = () => new ApiError('Connection', 'the connection was reset', { status: 0 });
    if (mine.signal.aborted) throw gone();
    writes.push(what);
    const hit = fate !== undefined && writes.length === fate.nth + 1;
    if (hit && fate.kind === 'dies before') {
      mine.abort(new Error('died'));
      throw gone();
    }
    const answer = await act();
    if (hit && fate.kind === 'dies after') mine.abort(new Error('died'));
    if (hit) throw gone();
    return answer;
  }
  const onRecord = async (ip: string) => {
    const { status } = await test.client.get<Network>(NETWORKS, test.key(name));
    if (!status?.hosts?.some((host) => host.ip === ip && host.reached)) told.push(`${ip} is not on record`);
  };
  const provider: Provider = {
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
  };
  const faulty = clientOver({
    ...client.caller,
    call: (request) =>
      request.method === 'GET'
        ? client.caller.call(request)
        : write(`${request.method} ${request.path.split('/').at(-1)}`, () => client.caller.call(request)),
  });
  const start = () => {
    const host = quietHost({ client: faulty, namespace: test.namespace, workers: 2 });
    const selection = { namespace: test.namespace, fieldSelector: `metadata.name=${name}` };
    const controllers = networkModule({ provider, resyncMs: 100 })({
      ...host,
      informer: <T extends KubeObject>(resource: Resource, view?: InformerView<T>) =>
        host.informer<T>(resource, { ...view, selection }),
    });
    const log = createLogger('silent');
    return createManager({ caches: host.informers, controllers, log }).run(dying.signal);
  };
  const ending = new AbortController();
  const running = (async () => {
    while (!ending.signal.aborted) {
      dying = new AbortController();
      const end = () => dying.abort(new Error('stop'));
      ending.signal.addEventListener('abort', end, { once: true });
      await start();
      ending.signal.removeEventListener('abort', end);
    }
  })();

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
  await test.client.delete(NETWORKS, key);
  await until(async () => (await test.client.find(NETWORKS, key)) === undefined);
  if (addresses(A) + addresses(B) !== '') told.push('something is left on a host');
  ending.abort(new Error('the life is over'));
  await running;
  return { writes, told };
}

it.each<Kind>(['dies before', 'dies after', 'loses the answer to'])(
  'a life ends the same whichever write the controller %s',
  async (kind) => {
    const word = kind.replaceAll(' ', '-');
    const plain = await live(`${word}-none`);
    expect(plain.told).toEqual([]);
    // At least: bound, on record, made, told; changed on two; removed; removed and let go.
    expect(plain.writes.length).toBeGreaterThanOrEqual(12);
    const lives = await pMap(
      plain.writes.map((_write, nth) => nth),
      async (nth) => ({ nth, ...(await live(`${word}-${nth}`, { kind, nth })) }),
      { concurrency: AT_ONCE },
    );
    expect(lives.flatMap(({ nth, told }) => told.map((one) => `${kind} write ${nth}: ${one}`))).toEqual([]);
  },
  300_000,
);
