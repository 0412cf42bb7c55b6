import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Check } from './check.ts';
import { artifacts } from './checks/artifacts.ts';
import { kernelModules } from './checks/kernel-modules.ts';
import { swapAtBoot } from './checks/swap-at-boot.ts';
import { scriptOf } from './script.ts';
import { errorsOf, hostWith, messageOf, warningsOf } from './testing/good-host.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'precheck-'));
});
afterEach(() => rm(root, { recursive: true }));

const put = async (path: string, text = '') => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
};
const link = async (path: string, target: string) => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await symlink(target, join(root, path));
};
/** Installs a program on the host. */
const program = async (name: string, text: string) => {
  await put(`bin/${name}`, `#!/bin/sh\n${text}\n`);
  await chmod(join(root, 'bin', name), 0o755);
};
/** Runs a check's script on the host; returns the findings for an otherwise good host. */
async function ask(check: Check, input: { artifactUrl?: string } = {}) {
  const { stdout } = await execa('/bin/sh', ['-s'], {
    input: scriptOf([check], input),
    env: { MATRYOSHKA_ROOT: root, PATH: `${join(root, 'bin')}:${process.env['PATH']}` },
  });
  return hostWith(stdout.split('\n'));
}

describe('kernel modules', () => {
  const release = '6.1.0-13-amd64';
  beforeEach(async () => {
    await program('uname', `echo ${release}`);
    await program(
      'modprobe',
      `for name; do :; done; [ "$name" != vxlan ] || { echo "install /bin/false"; exit 0; }
echo "modprobe: FATAL: Module $name not found in directory $MATRYOSHKA_ROOT/lib/modules/${release}" >&2; exit 1`,
    );
  });

  it('are available if the kernel shows them, even without a module file', async () => {
    await put('proc/filesystems', 'nodev\toverlay\n');
    await mkdir(join(root, 'proc/sys/net/bridge'), { recursive: true });
    await put('proc/sys/net/netfilter/nf_conntrack_max', '1');
    await mkdir(join(root, 'sys/module/vxlan'), { recursive: true });
    expect(errorsOf(await ask(kernelModules))).toEqual([]);
  });

  it('are available if they are built in or modprobe can load them', async () => {
    await put(`lib/modules/${release}/modules.builtin`, 'kernel/fs/overlayfs/overlay.ko\n');
    await program('modprobe', 'echo insmod /lib/modules/x.ko');
    expect(errorsOf(await ask(kernelModules))).toEqual([]);
  });

  it('are missing after a kernel update without a restart', async () => {
    await mkdir(join(root, 'lib/modules/6.1.0-18-amd64'), { recursive: true });
    expect(messageOf(await ask(kernelModules))).toMatch(
      /cannot load overlay, for containerd \(Module overlay not found.*br_netfilter.*nf_conntrack.*vxlan.*the running kernel is 6\.1\.0-13-amd64, and \/lib\/modules has 6\.1\.0-18-amd64: .*restart the host/,
    );
  });

  it('are missing if modprobe.d disables them, with the line', async () => {
    await put(
      `lib/modules/${release}/modules.builtin`,
      'kernel/fs/overlayfs/overlay.ko\nkernel/net/bridge/br_netfilter.ko\nkernel/net/netfilter/nf_conntrack.ko\n',
    );
    const host = await ask(kernelModules);
    expect(messageOf(host)).toMatch(
      /cannot load vxlan, for flannel \(modprobe\.d has "install \/bin\/false"\); .*\/etc\/modprobe\.d/,
    );
    expect(errorsOf({ ...host, role: 'etcd' })).toEqual([]);
    expect(errorsOf(host, [], {}, [], 'flannel-policies')).toEqual(['kernel-modules']);
    expect(errorsOf(host, [], {}, [], 'none')).toEqual([]);
  });
});

describe('swap that is enabled at boot', () => {
  it.each<[string, () => Promise<void>, string]>([
    [
      'in fstab',
      () => put('etc/fstab', '# /dev/sda9 none swap sw 0 0\n/dev/sda2 none swap sw 0 0\n'),
      'remove the line of /dev/sda2 from /etc/fstab',
    ],
    [
      'by a unit',
      () => link('etc/systemd/system/swap.target.wants/swapfile.swap', '/etc/systemd/system/swapfile.swap'),
      'systemctl mask swapfile.swap',
    ],
    [
      'by a GPT partition',
      () => put('run/systemd/generator.late/dev-gpt\\x2dswap.swap'),
      'systemctl mask dev-gpt\\x2dswap.swap',
    ],
    [
      'by zram',
      () => put('usr/lib/systemd/zram-generator.conf', '[zram0]\n'),
      'remove /usr/lib/systemd/zram-generator.conf',
    ],
    [
      'by a service of zram',
      () => link('etc/systemd/system/multi-user.target.wants/zramswap.service', '/lib/x'),
      'systemctl mask zramswap.service',
    ],
  ])('is refused %s, with the fix', async (_how, make, message) => {
    await make();
    const host = await ask(swapAtBoot);
    expect(messageOf(host)).toContain(message);
    expect(errorsOf(host, [], { swap: true })).toEqual([]);
  });

  it('is not found if it is commented out, noauto, masked or not swap', async () => {
    await put(
      'etc/fstab',
      '#/swap none swap sw 0 0\n/swap none swap noauto 0 0\n/dev/sda1 / ext4 defaults 0 1\n',
    );
    await put('run/systemd/generator.late/dev-sda2.swap');
    await link('etc/systemd/system/dev-sda2.swap', '/dev/null');
    await put('usr/lib/systemd/zram-generator.conf', '[zram0]\n');
    await put('etc/systemd/zram-generator.conf');
    expect(errorsOf(await ask(swapAtBoot))).toEqual([]);
  });

  it.each<[string, string, () => Promise<void>]>([
    ['a line of fstab', 'dev-sda2.swap', () => put('etc/fstab', '/dev/sda2 none swap sw 0 0\n')],
    [
      'a line of fstab by UUID',
      'dev-disk-by\\x2duuid-1a\\x2d2b.swap',
      () => put('etc/fstab', 'UUID=1a-2b none swap sw 0 0\n'),
    ],
    ['zram', 'dev-zram0.swap', () => put('usr/lib/systemd/zram-generator.conf', '[zram0]\n')],
    ['fstab by its target', 'swap.target', () => put('etc/fstab', '/swap.img none swap sw 0 0\n')],
    ['a unit by its target', 'swap.target', () => link('etc/systemd/system/swap.target.wants/a.swap', '/x')],
    ['zram by its target', 'swap.target', () => put('etc/systemd/zram-generator.conf', '[zram0]\n')],
    [
      'a service',
      'zramswap.service',
      () => link('etc/systemd/system/multi-user.target.wants/zramswap.service', '/x'),
    ],
  ])('is accepted if %s is masked', async (_what, unit, make) => {
    await make();
    expect(errorsOf(await ask(swapAtBoot))).toEqual(['swap-at-boot']);
    await link(`etc/systemd/system/${unit}`, '/dev/null');
    expect(errorsOf(await ask(swapAtBoot))).toEqual([]);
  });

  it('is refused if a mask does not cover a service or disappears at boot', async () => {
    await link('etc/systemd/system/swap.target', '/dev/null');
    await link('etc/systemd/system/multi-user.target.wants/zramswap.service', '/x');
    await link('run/systemd/system/zramswap.service', '/dev/null');
    expect(errorsOf(await ask(swapAtBoot))).toEqual(['swap-at-boot']);
  });
});

describe('versions', () => {
  it.each<[string, string[], string[]]>([
    ['@curl 7.68.0', ['versions'], []],
    ['@curl 8.5.0', [], []],
    ['@systemd 219', ['versions'], []],
    ['@cgroup v2 cpuset cpu io pids', ['versions'], []],
    ['@cgroup v1 cpuset cpu memory pids', [], ['versions']],
  ])('are checked: %s', (line, errors, warnings) => {
    expect(errorsOf(hostWith([line]))).toEqual(errors);
    expect(warningsOf(hostWith([line]))).toEqual(warnings);
  });

  it('name the option that curl lacks, and report no firewall problem', async () => {
    await program('curl', 'echo "curl: option --retry-all-errors: is unknown" >&2; exit 2');
    const host = await ask(artifacts, { artifactUrl: 'http://127.0.0.1:9/' });
    expect(errorsOf(host)).toEqual([]);
    expect(messageOf(hostWith(['@curl 7.68.0']))).toBe(
      'curl is 7.68.0; at least 7.71 is needed, since downloads use --retry-all-errors',
    );
  });
});
