import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import type { AskedHost } from '../check.ts';
import { said } from '../said.ts';
import { scriptOf, variablesOf } from '../script.ts';
import { errorsOf, hostWith, messageOf } from '../testing/good-host.ts';
import { firewall, probesOf } from './firewall.ts';

const asked = (ip: string, role: AskedHost['role'], more: Partial<AskedHost> = {}): AskedHost => ({
  name: ip,
  ip,
  role,
  clusterId: 'mine',
  ...more,
});
const stays = (ip: string, more: Partial<AskedHost> = {}) => asked(ip, 'present', more);
const master = { isMaster: true, withEtcd: true };

describe('a host probes', () => {
  const joining = asked('10.0.0.9', 'worker');
  const all = [stays('10.0.0.1', master), stays('10.0.0.2'), joining, asked('10.0.0.7', 'leaving')];

  it.each<[string, AskedHost | undefined, string[]]>([
    ['as a worker that joins, the control planes', joining, ['10.0.0.1 6443']],
    ['as a control plane that stays, the kubelets that join', all[0], ['10.0.0.9 10250']],
    ['as a worker that stays, nothing of a worker', all[1], []],
    ['as one that leaves, nothing', all[3], []],
  ])('%s', (_what, host, probes) => {
    expect(host && probesOf(host, all)).toEqual(probes);
  });

  it('as a joining control plane with etcd, the API server, etcd and kubelet of others', () => {
    const [first, second] = [stays('10.0.0.1', master), asked('10.0.0.3', 'control-plane', master)];
    expect(probesOf(second, [first, second])).toEqual([
      '10.0.0.1 6443',
      '10.0.0.1 2379',
      '10.0.0.1 2380',
      '10.0.0.1 10250',
    ]);
    expect(probesOf(first, [first, second])).toEqual([
      '10.0.0.3 6443',
      '10.0.0.3 2379',
      '10.0.0.3 2380',
      '10.0.0.3 10250',
    ]);
  });

  it('as a worker behind an external load balancer, no API server', () => {
    const worker = { ...joining, behindBalancer: true };
    expect(probesOf(worker, [stays('10.0.0.1', master), worker])).toEqual([]);
  });

  it('as an external etcd member, only the other members', () => {
    const members = ['10.0.0.4', '10.0.0.5'].map((ip) => asked(ip, 'etcd', { withEtcd: true }));
    const hosts = [...members, asked('10.0.0.1', 'control-plane', { isMaster: true })];
    expect(members[0] && probesOf(members[0], hosts)).toEqual(['10.0.0.5 2379', '10.0.0.5 2380']);
    expect(hosts[2] && probesOf(hosts[2], hosts)).toEqual(['10.0.0.4 2379', '10.0.0.5 2379']);
  });

  it('at most 24 addresses in a cluster of 1000, and control planes share the kubelets', () => {
    const masters = ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((ip) => asked(ip, 'control-plane', master));
    const workers = Array.from({ length: 1_000 }, (_, i) => asked(`10.1.${i >> 8}.${i & 255}`, 'worker'));
    const hosts = [...masters, ...workers];
    const probes = masters.map((host) => probesOf(host, hosts));
    expect(probes.map(({ length }) => length)).toEqual([24, 24, 24]);
    const kubelets = probes.flat().filter((probe) => probe.startsWith('10.1.'));
    expect(new Set(kubelets).size).toBe(kubelets.length);
  });
});

it('reports blocked ports of hosts that answered, with the port and the fix', () => {
  const lines = ['@silent 10.0.0.3 6443', '@silent 10.0.0.2 6443 No route to host', '@silent 10.0.0.8 10250'];
  const others = ['10.0.0.2', '10.0.0.3'].map((ip) =>
    hostWith(['@machineId x'], { ip, name: ip, role: 'present' }),
  );
  expect(messageOf(hostWith(lines), others)).toBe(
    'packets from here do not reach TCP 6443 of 10.0.0.2, 10.0.0.3; let 10.0.0.1 through in the firewalls of these hosts and on the way, or correct the routes',
  );
  expect(errorsOf(hostWith(['@silent 10.0.0.8 10250']))).toEqual([]);
});

const lacks =
  (await execa('sh', ['-c', 'unshare --net true && command -v nft'], { reject: false })).exitCode !== 0;

describe.skipIf(lacks)('in a network namespace, if a firewall', () => {
  const setUp = 'ip link set lo up\nip addr add 192.0.2.1/32 dev lo\nip addr add 192.0.2.2/32 dev lo\n';
  const hosts = [
    asked('192.0.2.9', 'worker'),
    asked('192.0.2.1', 'control-plane'),
    asked('192.0.2.2', 'control-plane'),
  ];

  it.each([
    ['drops packets', 'drop', '192.0.2.2 6443'],
    ['refuses as the administrator', 'reject with icmp admin-prohibited', '192.0.2.2 6443 No route to host'],
  ])('%s, a blocked port is distinguished from a closed one', async (_what, verdict, silent) => {
    const rules = `nft 'add table ip t; add chain ip t in { type filter hook input priority 0; }; add rule ip t in ip daddr 192.0.2.2 tcp dport 6443 ${verdict}'\n`;
    const [prober = asked('', 'worker')] = hosts;
    const { stdout } = await execa('unshare', ['--net', 'sh', '-s'], {
      input: setUp + rules + variablesOf([firewall], prober, hosts) + scriptOf([firewall], {}),
    });
    expect(said(stdout).all('silent')).toEqual([silent]);
  });
});
