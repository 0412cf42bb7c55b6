import { describe, expect, it } from 'vitest';
import { type CheckContext, type CheckedHost, DEFAULT_LIMITS } from './check.ts';
import { factsScript, type HostFacts, parseFacts } from './facts.ts';
import { checks } from './index.ts';

const good: HostFacts = {
  uid: 0,
  architecture: 'x86_64',
  os: { id: 'debian', version: '12' },
  cpus: 4,
  memoryMiB: 8000,
  diskFreeGiB: 50,
  swapKiB: 0,
  timeMs: 1_000_000,
  hostname: 'a',
  machineId: 'id-a',
  init: 'systemd',
  python: true,
  ports: [22],
  leftovers: [],
};
const hostWith = (facts: Partial<HostFacts>, more: Partial<CheckedHost> = {}): CheckedHost => ({
  name: 'a',
  ip: '10.0.0.1',
  role: 'control-plane',
  clusterId: 'mine',
  ...more,
  facts: { ...good, ...facts },
});

function errorsOf(host: CheckedHost, others: CheckedHost[] = []): string[] {
  const context: CheckContext = {
    host,
    all: [host, ...others],
    limits: DEFAULT_LIMITS,
    askedAtMs: 1_000_000,
  };
  return checks.filter(({ check }) => check(context).errors.length > 0).map(({ name }) => name);
}

describe('precheck', () => {
  it('finds nothing wrong with a good host', () => {
    expect(errorsOf(hostWith({}))).toEqual([]);
  });

  it.each<[string, Partial<HostFacts>]>([
    ['system', { architecture: 'armv7l' }],
    ['root', { uid: 1000 }],
    ['cpu', { cpus: 1 }],
    ['memory', { memoryMiB: 900 }],
    ['disk', { diskFreeGiB: 2 }],
    ['swap', { swapKiB: 4096 }],
    ['ports', { ports: [6443] }],
    ['clock', { timeMs: 1_060_000 }],
    ['machine-id', { machineId: '' }],
    ['leftovers', { leftovers: ['/etc/kubernetes/admin.conf'] }],
    ['owner', { owner: { clusterId: 'other', released: false } }],
    ['artifacts', { artifacts: false }],
  ])('%s', (name, facts) => {
    expect(errorsOf(hostWith(facts))).toEqual([name]);
  });

  it('tells all problems of a host at once', () => {
    expect(errorsOf(hostWith({ cpus: 1, swapKiB: 1, ports: [10250] }))).toEqual(['cpu', 'swap', 'ports']);
  });

  it('finds hosts that were cloned', () => {
    const twin = hostWith({}, { ip: '10.0.0.2', name: 'b' });
    expect(errorsOf(hostWith({}), [twin])).toEqual(['machine-id']);
  });

  it('takes what this cluster itself has left there, what was released, and what may be reclaimed', () => {
    const used = { ports: [6443], leftovers: ['/var/lib/etcd/member'] };
    expect(errorsOf(hostWith({ ...used, owner: { clusterId: 'mine', released: false } }))).toEqual([]);
    expect(errorsOf(hostWith({ owner: { clusterId: 'other', released: true } }))).toEqual([]);
    expect(
      errorsOf(hostWith({ ...used, owner: { clusterId: 'old', released: false } }, { reclaim: 'old' })),
    ).toEqual([]);
  });

  it('asks little of a host that leaves', () => {
    expect(errorsOf(hostWith({ cpus: 1, timeMs: 0, ports: [6443] }, { role: 'leaving' }))).toEqual([]);
  });
});

describe('facts', () => {
  it('reads its own lines and passes over a banner', () => {
    const facts = parseFacts(
      'Welcome!\n@uid 0\n@memoryKiB 2097152\n@port 22\n@port 6443\n@owner {"clusterId":"x"}\nbye @ 5',
    );
    expect(facts).toMatchObject({
      uid: 0,
      memoryMiB: 2048,
      ports: [22, 6443],
      owner: { clusterId: 'x', released: false },
    });
  });

  it('lets nobody have a host whose owner file cannot be read', () => {
    expect(parseFacts('@owner {broken').owner).toEqual({ clusterId: 'unreadable', released: false });
  });

  it('quotes what it puts into a shell', () => {
    expect(factsScript("http://a/'; rm -rf /")).toContain(`'http://a/'\\''; rm -rf /'`);
  });
});
