import { expect, it } from 'vitest';
import { ABANDON, type Network } from '../api.ts';
import { type Ground, HostTrouble, type Provider } from '../bridges/provider.ts';
import { applyToHosts, reachAll } from './round.ts';

const credentials = { user: 'root', password: 'x', knownHosts: '' };
const network: Network = { metadata: {}, spec: { cidr: '10.9.0.0/24', gateway: '10.9.0.1' } };
const bridge = { name: 'mxn-a', id: 'a', cidr: '10.9.0.0/24', address: '10.9.0.1/24' };
const hosts = ['192.0.2.1', '192.0.2.2'].map((ip) => ({ record: { ip, reached: true }, stays: true }));
const ground = (more: Partial<Ground>): Ground => ({
  hostKeyLine: 'k',
  session: () => Promise.reject(new HostTrouble('HostFailed', 'no session')),
  close: () => {},
  ...more,
});

it('closes the other connections if reaching a host throws', async () => {
  const later = Promise.withResolvers<void>();
  const closed: string[] = [];
  const provider: Provider = {
    async reach({ ip }) {
      if (ip === '192.0.2.1') throw new TypeError('a fault');
      await later.promise;
      return ground({ close: () => void closed.push(ip) });
    },
  };
  const reached = reachAll(provider, network, hosts, credentials);
  later.resolve();
  await expect(reached).rejects.toThrow('a fault');
  expect(closed).toEqual(['192.0.2.2']);
});

it('waits for each host before it reports an error of another', async () => {
  const later = Promise.withResolvers<void>();
  const ended: string[] = [];
  const slow = async () => {
    await later.promise;
    ended.push('192.0.2.2');
    throw new HostTrouble('HostFailed', 'slow');
  };
  const [first, second] = hosts;
  if (!first || !second) throw new Error('two hosts are needed');
  const outcomes = applyToHosts(
    [
      { ...first, ground: ground({ session: () => Promise.reject(new TypeError('a fault')) }) },
      { ...second, ground: ground({ session: slow }) },
    ],
    bridge,
    async () => false,
  );
  later.resolve();
  await expect(outcomes).rejects.toThrow('a fault');
  expect(ended).toEqual(['192.0.2.2']);
});

it('skips an abandoned host, unless the Network still names it', async () => {
  const tried: string[] = [];
  const provider: Provider = {
    async reach({ ip }) {
      tried.push(ip);
      throw new HostTrouble('Unreachable', `${ip} is away`);
    },
  };
  const leaving = hosts.map((host) => ({ ...host, stays: host.record.ip === '192.0.2.2' }));
  const annotated = { ...network, metadata: { annotations: { [ABANDON]: '192.0.2.1, 192.0.2.2' } } };
  const reached = await reachAll(provider, annotated, leaving, credentials);
  expect(tried).toEqual(['192.0.2.2']);
  expect(await applyToHosts(reached, bridge, async () => false)).toMatchObject([
    { record: undefined, notices: [{ reason: 'Abandoned' }] },
    { record: { ip: '192.0.2.2' }, trouble: { reason: 'Unreachable' } },
  ]);
});
