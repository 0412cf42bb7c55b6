import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostFolder, runRoleScript } from './role-script.fixture.ts';

let root = '';
beforeEach(async () => {
  root = await hostFolder();
});
afterEach(() => rm(root, { recursive: true }));

const run = (role: string, script: string, answers: string, env: Record<string, string>) =>
  runRoleScript(root, { role, script, answers, env });

describe('the IPv6 address of a node', () => {
  const line = (link: string, address: string, flags: string) =>
    `2: ${link}    inet6 ${address}/64 scope ${flags} \\       valid_lft forever preferred_lft forever`;
  const chosen = (...lines: string[]) =>
    run(
      'kubelet',
      'addresses.sh',
      `case "$*" in
        '-o -4 address show') echo '1: lo    inet 127.0.0.1/8 scope host lo'; echo '2: ens3    inet 10.0.0.1/24 brd 10.0.0.255 scope global ens3' ;;
        '-o -6 address show dev ens3') cat <<'A'\n${lines.join('\n')}\nA\n;; esac`,
      { NODE_IP: '10.0.0.1' },
    );

  it.each([
    [
      'a fixed one before one by routers',
      ['fd00:1::5', 'global dynamic mngtmpaddr'],
      ['fd00:1::1', 'global'],
    ],
    ['one by routers where there is no fixed one', ['fe80::1', 'link'], ['fd00:1::1', 'global dynamic']],
    ['the first of two fixed ones', ['fd00:1::1', 'global'], ['fd00:1::5', 'global']],
    ['one that stays', ['fd00:1::5', 'global temporary dynamic'], ['fd00:1::1', 'global dynamic']],
    ['one that is in use', ['fd00:1::5', 'global deprecated'], ['fd00:1::1', 'global dynamic']],
    ['one that is the host’s', ['fd00:1::5', 'global dadfailed tentative'], ['fd00:1::1', 'global nodad']],
  ])('is %s', async (_what, ...addresses) => {
    const { stdout } = await chosen(
      ...addresses.slice(0, 2).map(([address = '', flags = '']) => line('ens3', address, flags)),
    );
    expect(stdout).toBe('result: ip6=fd00:1::1');
  });

  it('is reported as missing, with the name of the interface', async () => {
    expect(await chosen(line('ens3', 'fe80::1', 'link'))).toMatchObject({
      exitCode: 1,
      stderr: 'ens3, which has 10.0.0.1, has no global IPv6 address; give it a fixed one',
    });
  });
});

describe('a host that begins to forward IPv6', () => {
  const setting = async (name: string, value: string) => {
    const path = join(root, 'proc/sys/net/ipv6/conf', name);
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, `${value}\n`);
  };
  const host = (answers = ':') =>
    run('host', 'host.sh', answers, { CLUSTER_ID: 'mine', POD_CIDR: '10.244.0.0/16,fd00:10:244::/56' });
  const manifest = async () =>
    (await readFile(join(root, 'etc/matryoshka/made'), 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('host sysctl net.ipv6'));
  const file = () => readFile(join(root, 'etc/sysctl.d/99-matryoshka-ipv6.conf'), 'utf8');
  beforeEach(async () => {
    await setting('all/forwarding', '0');
    for (const link of ['ens3', 'ens4', 'ens5.7']) {
      await setting(`${link}/forwarding`, '0');
      await setting(`${link}/accept_ra`, link === 'ens4' ? '0' : '1');
    }
  });

  it('sets forwarding alone if no router announces itself', async () => {
    expect((await host()).exitCode).toBe(0);
    expect(await file()).toBe('net.ipv6.conf.all.forwarding = 1\n');
    expect(await manifest()).toEqual(['host sysctl net.ipv6.conf.all.forwarding=0']);
  });

  it('keeps accepting router advertisements, by a setting that precedes forwarding', async () => {
    const { stdout } = await host(`case "$*" in
      '-6 route show proto ra') echo 'default via fe80::1 dev ens3 metric 1024 expires 1700sec'; echo 'default via fe80::2 dev ens4' ;;
      '-6 -o address show dynamic') echo '5: ens5.7    inet6 fd00:7::9/64 scope global dynamic mngtmpaddr' ;; esac`);
    expect(await file()).toBe(
      'net.ipv6.conf.ens3.accept_ra = 2\nnet.ipv6.conf.ens5/7.accept_ra = 2\nnet.ipv6.conf.all.forwarding = 1\n',
    );
    expect(await manifest()).toEqual([
      'host sysctl net.ipv6.conf.ens3.accept_ra=1',
      'host sysctl net.ipv6.conf.ens5/7.accept_ra=1',
      'host sysctl net.ipv6.conf.all.forwarding=0',
    ]);
    const set = stdout.split('\n').filter((line) => line.includes('ipv6'));
    expect(set.at(-1)).toBe('sysctl -q net.ipv6.conf.all.forwarding=1');
    expect(set.at(-2)).toContain('99-matryoshka-ipv6.conf');
  });

  it('records which interface forwarded before, and changes nothing if all do', async () => {
    await setting('ens4/forwarding', '1');
    await host();
    expect(await manifest()).toEqual([
      'host sysctl net.ipv6.conf.ens4.forwarding=1',
      'host sysctl net.ipv6.conf.all.forwarding=0',
    ]);
    await writeFile(join(root, 'etc/matryoshka/made'), 'cluster mine\n');
    await setting('all/forwarding', '1');
    await host();
    expect(await manifest()).toEqual([]);
  });
});
