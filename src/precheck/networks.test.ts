import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { address } from './checks/address.ts';
import { nameServers } from './checks/name-servers.ts';
import { routes } from './checks/routes.ts';
import { scriptOf } from './script.ts';
import { errorsOf, findingsOf, hostWith, messageOf, warningsOf } from './testing/good-host.ts';

const lacks = (await execa('unshare', ['--net', 'true'], { reject: false })).exitCode !== 0;

describe('routes and addresses in the networks of pods and Services', () => {
  const NETWORKS = ['10.244.0.0/16', '10.96.0.0/12'];
  const at = (lines: string[]) => findingsOf(hostWith(lines), [], {}, NETWORKS);

  it.each<[string, string, RegExp]>([
    [
      'a route to pods',
      '@route 10.244.7.0/24 via 10.0.0.9 dev tun0',
      /^the route to 10\.244\.7\.0\/24 \(tun0\) lies in 10\.244\.0\.0\/16/,
    ],
    ['a route to the very network', '@route 10.244.0.0/16 dev vpn', /10\.244\.0\.0\/16 \(vpn\) lies in/],
    ['a route to one address', '@route 10.96.0.10 dev eth0', /lies in 10\.96\.0\.0\/12/],
  ])('are refused: %s', (_what, line, message) => {
    const errors = at([line]).flatMap((found) => found.errors);
    expect(errors).toEqual([expect.stringMatching(message)]);
    expect(errorsOf(hostWith([line], { role: 'present' }), [], {}, NETWORKS)).toEqual([]);
    expect(errorsOf(hostWith([line], { role: 'etcd' }), [], {}, NETWORKS)).toEqual([]);
  });

  it.each([
    '@route 10.244.3.0/24 dev cni0 proto kernel scope link src 10.244.3.1',
    '@route 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink',
    '@route 172.17.0.0/16 dev docker0',
    '@route default via 10.0.0.254 dev eth0',
    '@route 0.0.0.0/0 dev eth0',
    '@route unreachable 192.0.2.0/24',
  ])('are accepted: %s', (line) => {
    expect(at([line]).flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  });

  it.each([
    '@route 10.244.3.7 dev cali1234 scope link',
    '@route 10.244.3.0/24 via 10.244.3.1 dev cilium_host',
    '@route 10.244.2.0/26 via 10.0.0.2 dev tunl0 proto bird onlink',
  ])('are accepted on a host of this cluster with another pod network: %s', (line) => {
    const host = (clusterId: string) => hostWith([line, `@owner {"clusterId":"${clusterId}"}`]);
    expect(errorsOf(host('mine'), [], {}, NETWORKS)).toEqual([]);
    expect(errorsOf(host('other'), [], {}, NETWORKS)).toContain('routes');
  });

  it('cause a warning for a wider network', () => {
    expect(warningsOf(hostWith(['@route 10.0.0.0/8 dev eth0']), [], {}, NETWORKS)).toEqual(['routes']);
  });

  it.skipIf(lacks)('are found on a host', async () => {
    const before = [
      'ip link add bond7 type bridge; ip addr add 10.244.9.1/24 dev bond7; ip link set bond7 up',
      'ip link add cni0 type bridge; ip addr add 10.244.1.1/24 dev cni0; ip link set cni0 up',
    ].join('\n');
    const { stdout } = await execa('unshare', ['--net', 'sh', '-s'], {
      input: `${before}\n${scriptOf([address, routes], {})}`,
    });
    const errors = findingsOf(hostWith(stdout.split('\n')), [], {}, ['10.244.0.0/16'])
      .filter(({ name }) => name === 'routes')
      .flatMap((found) => found.errors);
    expect(errors).toEqual([
      expect.stringMatching(/^the address 10\.244\.9\.1 \(bond7\) lies in 10\.244\.0\.0\/16/),
    ]);
  });
});

describe('name servers', () => {
  let root = '';
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'precheck-'));
    await mkdir(join(root, 'etc'));
    await mkdir(join(root, 'run/systemd/resolve'), { recursive: true });
  });
  afterEach(() => rm(root, { recursive: true }));

  /** Asks a host with this resolv.conf, and this one of systemd-resolved. */
  async function ask(text: string | undefined, resolved?: string) {
    if (text !== undefined) await writeFile(join(root, 'etc/resolv.conf'), text);
    if (resolved !== undefined) await writeFile(join(root, 'run/systemd/resolve/resolv.conf'), resolved);
    const systemctl = `systemctl() { ${resolved === undefined ? 'return 3' : ':'}; }\n`;
    const input = `${systemctl}${scriptOf([nameServers], {})}`;
    const { stdout } = await execa('/bin/sh', ['-s'], { input, env: { MATRYOSHKA_ROOT: root } });
    return hostWith(
      stdout.includes('@nameServer') ? stdout.split('\n') : ['@nameServer', ...stdout.split('\n')],
    );
  }

  it.each<[string, string | undefined, string | undefined, RegExp]>([
    ['no resolv.conf', undefined, undefined, /resolv\.conf is missing, and the kubelet starts no pod/],
    [
      'a loopback server alone',
      'nameserver 127.0.0.53\n',
      undefined,
      /names 127\.0\.0\.53 alone.*ends in a loop/,
    ],
    ['an IPv6 loopback server', ' nameserver ::1\n', undefined, /names ::1 alone/],
  ])('are refused: %s', async (_what, text, resolved, message) => {
    const host = await ask(text, resolved);
    const own = findingsOf(host).find(({ name }) => name === 'name-servers');
    expect(own?.errors).toEqual([expect.stringMatching(message)]);
    expect(errorsOf(host, [], { ownNameServers: true })).toEqual([]);
    expect(errorsOf({ ...host, role: 'etcd' })).toEqual([]);
  });

  it('are read from systemd-resolved if it runs, as kubeadm does', async () => {
    expect(messageOf(await ask('nameserver 127.0.0.53\n', 'nameserver 192.0.2.1\n'))).toBe('');
    expect(messageOf(await ask('nameserver 192.0.2.1\n', 'nameserver 127.0.0.1\n'))).toMatch(
      /^\/run\/systemd\/resolve\/resolv\.conf names 127\.0\.0\.1 alone/,
    );
  });

  it('cause a warning if one of them is a loopback address', async () => {
    expect(warningsOf(await ask('nameserver 127.0.0.1\nnameserver 192.0.2.1\n'))).toEqual(['name-servers']);
  });

  it('are missing if the file names none', () => {
    expect(messageOf(hostWith(['@nameServer']))).toMatch(/names no name server, so CoreDNS does not start/);
  });
});
