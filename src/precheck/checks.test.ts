import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { quoted } from '#ssh/quoted.ts';
import type { CheckedHost } from './check.ts';
import { foreign } from './checks/foreign.ts';
import { ownerOf } from './checks/owner.ts';
import { checks } from './index.ts';
import { limitsOf } from './limits.ts';
import { said } from './said.ts';
import { scriptOf } from './script.ts';
import { errorsOf, findingsOf, hostWith, messageOf } from './testing/good-host.ts';

const owner = (clusterId: string, released = false) => `@owner ${JSON.stringify({ clusterId, released })}`;

describe('precheck', () => {
  it('refuses a symbolic link in place of a data folder, and names the bind mount', () => {
    const line = '@link /var/lib/etcd /data/etcd';
    expect(messageOf(hostWith([line]))).toContain('"/data/etcd /var/lib/etcd none bind 0 0" in /etc/fstab');
    expect(errorsOf(hostWith([line], { role: 'worker' }))).toEqual([]);
    expect(errorsOf(hostWith([line], { role: 'worker', withEtcd: true }))).toEqual(['links']);
    expect(errorsOf(hostWith([line], { role: 'leaving' }))).toEqual([]);
  });

  it('finds nothing wrong with a good host', () => {
    expect(
      findingsOf(hostWith([])).filter(({ errors, warnings }) => errors.length + warnings.length),
    ).toEqual([]);
  });

  it.each([980_001, 990_000, 1_009_999])(
    'accepts the clock value %i of hosts that answered slowly',
    (time) => {
      expect(errorsOf(hostWith([`@time ${time}`]))).toEqual([]);
    },
  );

  it.each<[string, string]>([
    ['system', '@architecture armv7l'],
    ['programs', '@missing tar'],
    ['root', '@uid 1000'],
    ['cpu', '@cpus 1'],
    ['cpu', '@cpus'],
    ['memory', '@memoryKiB 900000'],
    ['disk', '@disk 100000000 2000000'],
    ['disk', '@disk'],
    ['swap', '@swapKiB 4096'],
    ['ports', '@port 6443'],
    ['clock', '@time 1060000'],
    ['clock', '@time 970000'],
    ['machine-id', '@machineId'],
    ['foreign', '@foreign /etc/kubernetes/admin.conf'],
    ['foreign', '@made /var/lib/etcd/member'],
    ['owner', owner('other')],
    ['owner', '@owner {broken'],
    ['artifacts', '@artifacts no'],
  ])('reports check %s for %s', (name, line) => {
    expect(errorsOf(hostWith([line]))).toEqual([name]);
  });

  it.each([
    ['@cpus', 'cpu', 'nproc'],
    ['@memoryKiB', 'memory', '/proc/meminfo'],
    ['@disk', 'disk', 'df -Pk /var/lib'],
    ['@time', 'clock', 'date +%s%3N'],
  ])('names the command or file behind a missing %s', (line, name, source) => {
    expect(errorsOf(hostWith([line]))).toEqual([name]);
    expect(messageOf(hostWith([line]))).toMatch(/^does not /);
    expect(messageOf(hostWith([line]))).toContain(source);
  });

  it('reports all problems of a host at once', () => {
    expect(errorsOf(hostWith(['@cpus 1', '@swapKiB 1', '@port 10250']))).toEqual(['cpu', 'swap', 'ports']);
  });

  it('requires free etcd ports only if etcd runs on the control plane', () => {
    const taken = ['@port 2379'];
    expect(errorsOf(hostWith(taken))).toEqual([]);
    expect(errorsOf(hostWith(taken, { withEtcd: true }))).toEqual(['ports']);
  });

  it.each([
    ['as it is named', 'mine a 10.0.0.1', []],
    ['before names were written', 'mine', []],
    ['to another cluster, which is the owner file’s matter', 'other b 10.0.0.9', []],
    ['at another address', 'mine a 10.0.0.9', ['joined']],
    ['under another name', 'mine b 10.0.0.1', ['joined']],
  ])('checks a host that joined %s', (_how, text, names) => {
    expect(errorsOf(hostWith([owner('mine'), `@joined ${text}`], { role: 'present' }))).toEqual(names);
  });

  it.each<[string, string, Partial<CheckedHost>, string[]]>([
    ['of its own', '10.0.0.1', {}, []],
    ['of another interface of its own', '192.0.2.7', {}, []],
    ['that is translated on its way', '203.0.113.9', {}, ['address']],
    ['that is translated, where etcd alone is to be', '203.0.113.9', { role: 'etcd' }, ['address']],
    ['that is translated, of a host that leaves', '203.0.113.9', { role: 'leaving' }, []],
  ])('checks a host with an address %s', (_what, ip, more, names) => {
    const addresses = [
      '@address lo 127.0.0.1/8 scope host lo\\       valid_lft forever',
      '@address eth0 10.0.0.1/24 brd 10.0.0.255 scope global eth0\\       valid_lft forever',
      '@address eth1 192.0.2.7/24 brd 192.0.2.255 scope global eth1\\       valid_lft forever',
    ];
    const host = hostWith(addresses, { ip, ...more });
    expect(errorsOf(host)).toEqual(names);
    if (names.length > 0) expect(messageOf(host)).toContain('own: 10.0.0.1 (eth0), 192.0.2.7 (eth1)');
  });

  it('finds hosts that were cloned', () => {
    const twin = hostWith([], { ip: '10.0.0.2', name: 'b' });
    expect(errorsOf(hostWith([]), [twin])).toEqual(['machine-id']);
  });

  it('skips most checks of a leaving host', () => {
    expect(errorsOf(hostWith(['@cpus 1', '@time 0', '@port 6443'], { role: 'leaving' }))).toEqual([]);
  });

  it('counts the space that the eviction thresholds of the kubelet keep free', () => {
    // The threshold is 15% of 240 GiB: a disk with 40 GiB free is too full for a kubelet with the defaults.
    const host = hostWith([`@disk ${240 * 1024 ** 2} ${40 * 1024 ** 2}`]);
    expect(messageOf(host)).toMatch(/40 GiB free.*44 are needed, 36 of them because.*imagefs.available 15%/);
    expect(errorsOf(host, [], { evictionHard: { 'imagefs.available': '1Gi' } })).toEqual([]);
    expect(errorsOf(host, [], { evictionHard: { 'nodefs.available': '34Gi' } })).toEqual(['disk']);
  });

  it('applies a limit of the site, and refuses an unknown one', () => {
    expect(errorsOf(hostWith(['@cpus 1']), [], { cpus: 1 })).toEqual([]);
    expect(() => limitsOf(checks, { cpu: 1 })).toThrow('precheck_limits');
  });
});

describe('precheck with dual-stack pods', () => {
  const both = ['10.244.0.0/16', 'fd00:10:244::/56', '10.96.0.0/16', 'fd00:10:96::/112'];
  const four = '@address eth0 10.0.0.1/24 brd 10.0.0.255 scope global eth0\\       valid_lft forever';
  const six = (address: string, flags = '', link = 'eth0') =>
    `@address ${link} ${address}/64 scope global ${flags}\\       valid_lft forever`;
  const found = (lines: string[], more: Partial<CheckedHost> = {}, networks = both) =>
    findingsOf(hostWith(lines, more), [], {}, networks).flatMap(({ errors }) => errors);

  it.each<[string, string[]]>([
    ['a fixed address', [four, six('fd00:1::1')]],
    ['one that routers gave', [four, six('fd00:1::1', 'dynamic mngtmpaddr noprefixroute ')]],
    ['a fixed one, and one that routers gave', [four, six('fd00:2::9', 'dynamic '), six('fd00:1::1')]],
  ])('accepts %s', (_what, lines) => {
    expect(found(lines)).toEqual([]);
  });

  it.each<[string, string[], RegExp]>([
    ['no IPv6 address', [four], /^eth0, which has 10\.0\.0\.1, has no global IPv6.*give eth0 a fixed one/],
    ['one of the link', [four, '@address eth0 fe80::1/64 scope link'], /no global IPv6/],
    ['one of another interface', [four, six('fd00:1::1', '', 'eth1')], /no global IPv6/],
    ['one for a while', [four, six('fd00:1::1', 'temporary dynamic ')], /no global IPv6/],
    ['one that another host has', [four, six('fd00:1::1', 'dadfailed tentative ')], /no global IPv6/],
    [
      'one of the pods',
      [four, six('fd00:10:244:7::1')],
      /fd00:10:244:7::1 \(eth0\) lies in fd00:10:244::\/56/,
    ],
    ['one of the Services', [four, six('fd00:10:96::1')], /lies in fd00:10:96::\/112/],
    ['IPv6 off for pods', [four, six('fd00:1::1'), '@disabledOnNewLinks 1'], /disable_ipv6 to 0/],
    ['no IPv6 at all', [four, '@disabledOnNewLinks'], /IPv6 is off for new interfaces/],
    [
      'an address that is translated on its way',
      [six('fd00:1::1')],
      /no interface has the address 10\.0\.0\.1/,
    ],
  ])('refuses a host with %s', (_what, lines, why) => {
    expect(found(lines)).toEqual([expect.stringMatching(why)]);
  });

  it('requires no IPv6 address without a node, or with one family for pods', () => {
    expect(found([four], { role: 'etcd' })).toEqual([]);
    expect(found([four], { role: 'present' })).toEqual([]);
    expect(found([four], {}, ['10.244.0.0/16', '10.96.0.0/16'])).toEqual([]);
    expect(found([four], {}, ['fd01::/48', 'fd02::/112'])).toEqual([]);
  });

  it('requires IPv6 on new interfaces for pods with IPv6 only', () => {
    const alone = ['fd01::/48', 'fd02::/112'];
    const called = { ip: 'fd00:1::1' };
    expect(found([six('fd00:1::1')], called, alone)).toEqual([]);
    expect(found([six('fd00:1::1'), '@disabledOnNewLinks 1'], called, alone)).toEqual([
      expect.stringMatching(/disable_ipv6 to 0/),
    ]);
  });
});

describe('a host with remains of a cluster', () => {
  const things = ['@port 6443', '@made /var/lib/etcd/member'];
  it.each<[string, string[], string | undefined, string[]]>([
    ['is taken again by the cluster that made it', [...things, '@madeBy mine', owner('mine')], undefined, []],
    ['is taken from the cluster that is named', [...things, '@madeBy old', owner('old')], 'old', []],
    ['is taken on after a reclaim that was cut short', [...things, '@madeBy old', owner('mine')], 'old', []],
    ['is refused while it is another cluster’s', ['@madeBy old', owner('old')], undefined, ['owner']],
    ['is refused with a name that is not its owner’s', ['@madeBy old', owner('old')], 'whatever', ['owner']],
    [
      'is refused when it was released',
      [...things, '@madeBy old', owner('old', true)],
      'old',
      ['foreign', 'ports'],
    ],
    ['is refused without an owner file', [...things, '@madeBy old'], 'old', ['foreign', 'ports']],
    ['is refused without a manifest', [...things, owner('old')], 'old', ['foreign']],
    ['is refused with a third one’s manifest', [...things, '@madeBy x', owner('old')], 'old', ['foreign']],
    [
      'is refused for what the manifest does not list',
      ['@foreign /x', '@madeBy mine', owner('mine')],
      undefined,
      ['foreign'],
    ],
  ])('%s', (_what, lines, reclaim, names) => {
    expect(errorsOf(hostWith(lines, { reclaim }))).toEqual(names);
  });

  it('is refused with the names of foreign files and processes, and the fix', () => {
    expect(messageOf(hostWith(['@foreign /var/lib/etcd/default', '@foreign process etcd (pid 7)']))).toMatch(
      /\/var\/lib\/etcd\/default, process etcd \(pid 7\); nothing of it was touched. Remove it yourself/,
    );
  });

  it.each<[string, Partial<CheckedHost>, RegExp]>([
    [
      'of the namespace by its id',
      { ownClusters: ['old'] },
      /belongs to cluster old; name another host, or, if that cluster is gone, set "reclaim: old"/,
    ],
    [
      'of the namespace, with another id',
      { ownClusters: ['old'], reclaim: 'x' },
      /to cluster old, not to x, which/,
    ],
    ['of another namespace', { ownClusters: ['x'] }, /belongs to another cluster;.*have the administrator/],
    ['that nobody has on record', {}, /belongs to another cluster;/],
    [
      'of another namespace, with another id',
      { reclaim: 'x' },
      /belongs to another cluster, not to x, which "recl/,
    ],
  ])('is reported as a host of a cluster %s', (_what, more, message) => {
    const text = messageOf(hostWith([owner('old')], more));
    expect(text).toMatch(message);
    // A user who knows an id may have the hosts of that cluster wiped.
    expect(/\bold\b/.test(text)).toBe(more.ownClusters?.includes('old') ?? false);
  });

  it('is refused with a repair guide, but no reclaim, if its owner file is damaged', () => {
    const text = messageOf(hostWith(['@owner {broken']));
    expect(text).toMatch(/docs\/tasks\/damaged-owner-file.md/);
    expect(text).not.toMatch(/reclaim/);
  });

  it('gets a warning if reclaim has no effect', () => {
    const warnings = findingsOf(hostWith([], { reclaim: 'old' })).flatMap((found) => found.warnings);
    expect(warnings).toEqual([expect.stringContaining('has no owner file')]);
  });
});

describe('the precheck script', () => {
  let root = '';
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'precheck-'));
  });
  afterEach(() => rm(root, { recursive: true }));

  const put = async (path: string, text = '') => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  const ask = async () => {
    const input = scriptOf([foreign], {});
    const { stdout } = await execa('/bin/sh', ['-s'], { input, env: { MATRYOSHKA_ROOT: root } });
    return said(stdout);
  };

  it('finds nothing on an empty host, nor in empty folders', async () => {
    await mkdir(join(root, 'var/lib/etcd/lost+found'), { recursive: true });
    expect((await ask()).all('foreign')).toEqual([]);
  });

  it.each([
    '/var/lib/etcd/default/member',
    '/var/lib/etcd/member',
    '/etc/cni/net.d/10-other.conflist',
    '/opt/cni/bin/bridge',
    '/var/lib/docker/overlay2',
    '/usr/bin/containerd',
    '/lib/systemd/system/docker.service',
    '/etc/kubernetes/admin.conf',
    '/var/lib/rancher/k3s',
    '/run/containerd/containerd.sock',
  ])('finds %s', async (path) => {
    await put(path);
    const [found = ''] = (await ask()).all('foreign');
    expect(found !== '' && path.startsWith(found)).toBe(true);
  });

  it('distinguishes files in the manifest from foreign files', async () => {
    await put(
      '/etc/matryoshka/made',
      'cluster mine\nruntime tree /var/lib/containerd\nnetwork file /etc/cni/net.d/10-flannel.conflist\n',
    );
    await put('/var/lib/containerd/data/x');
    await put('/etc/cni/net.d/10-flannel.conflist');
    await put('/etc/cni/net.d/99-other.conf');
    const answer = await ask();
    expect(answer.text('madeBy')).toBe('mine');
    expect(answer.all('made')).toEqual(['/etc/cni/net.d/10-flannel.conflist', '/var/lib/containerd/data']);
    expect(answer.all('foreign')).toEqual(['/etc/cni/net.d/99-other.conf']);
  });

  it('answers every key that a check reads', async () => {
    await put('/etc/resolv.conf', 'nameserver 192.0.2.53\n');
    const { stdout } = await execa('/bin/sh', ['-s'], {
      input: scriptOf(checks, {}),
      env: { MATRYOSHKA_ROOT: root },
    });
    const keys = checks.flatMap(({ good }) =>
      good.split('\n').flatMap((line) => /^@(\w+)/.exec(line)?.[1] ?? []),
    );
    const answered = said(stdout);
    expect(keys.filter((key) => !['artifacts', 'port'].includes(key) && answered.text(key) === '')).toEqual(
      [],
    );
  });

  it('quotes values for the shell', () => {
    expect(quoted("http://a/'; rm -rf /")).toBe(`'http://a/'\\''; rm -rf /'`);
  });
});

describe('the output of the script', () => {
  it('is parsed by its @ lines, without a banner', () => {
    const read = said('Welcome!\n@uid 0\n@port 22\n@port 6443\n@owner {"clusterId":"x"}\nbye @ 5');
    expect([read.text('uid'), read.all('port')]).toEqual(['0', ['22', '6443']]);
    expect(ownerOf(read)).toEqual({ clusterId: 'x', released: false });
  });

  it('counts an unreadable owner file as another owner', () => {
    expect(ownerOf(said('@owner {broken'))).toEqual({ clusterId: 'unreadable', released: false });
  });
});
