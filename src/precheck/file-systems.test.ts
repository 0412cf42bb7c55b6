import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { etcdFolder } from './checks/etcd-folder.ts';
import { mounts } from './checks/mounts.ts';
import { said } from './said.ts';
import { scriptOf } from './script.ts';
import { errorsOf, findingsOf, hostWith, messageOf, warningsOf } from './testing/good-host.ts';

const lacks = (await execa('unshare', ['--mount', 'true'], { reject: false })).exitCode !== 0;

describe('lost+found in the etcd folder', () => {
  const lines = ['@etcdFolder lost+found'];

  it('is refused if kubeadm would refuse it, with the fix', () => {
    expect(messageOf(hostWith(lines, { kubeadmMakesEtcd: true }))).toContain(
      'rmdir /var/lib/etcd/lost+found',
    );
    expect(errorsOf(hostWith(lines, { role: 'etcd', withEtcd: true }))).toEqual([]);
    expect(errorsOf(hostWith(lines, { role: 'present', kubeadmMakesEtcd: true }))).toEqual([]);
  });

  it('is found on a host', async () => {
    const root = await mkdtemp(join(tmpdir(), 'precheck-'));
    await mkdir(join(root, 'var/lib/etcd/lost+found'), { recursive: true });
    const input = scriptOf([etcdFolder], {});
    const { stdout } = await execa('/bin/sh', ['-s'], { input, env: { MATRYOSHKA_ROOT: root } });
    await rm(root, { recursive: true });
    expect(said(stdout).text('etcdFolder')).toBe('lost+found');
  });
});

describe('the disks below /var/lib', () => {
  const line = (folder: string, at: string, gib: number, options: string) =>
    `@mount ${folder} ${at} ${gib * 1024 ** 2} ${options}`;

  it.each<[string, string, RegExp]>([
    [
      'too little room',
      line('/var/lib/etcd', '/var/lib/etcd', 1, 'rw'),
      /etcd is a file system of its own with 1 GiB free; at least 2/,
    ],
    [
      'noexec below our programs',
      line('/var/lib/matryoshka', '/var', 100, 'rw,nosuid,noexec'),
      /^\/var, which \/var\/lib\/matryoshka lies on, is mounted "noexec".*"mount -o remount,exec \/var"/,
    ],
    [
      'a disk that is read-only',
      line('/etc', '/', 100, 'ro,relatime'),
      /^\/, which \/etc lies on, is mounted read-only/,
    ],
  ])('are refused with %s', (_what, text, message) => {
    expect(errorsOf(hostWith([text], { withEtcd: true }))).toEqual(['mounts']);
    expect(messageOf(hostWith([text], { withEtcd: true }))).toMatch(message);
    expect(errorsOf(hostWith([text], { role: 'present' }))).toEqual([]);
  });

  it('count only if the host uses them, by limits of the site', () => {
    const small = line('/var/lib/etcd', '/var/lib/etcd', 1, 'rw');
    expect(errorsOf(hostWith([small], { role: 'worker' }))).toEqual([]);
    expect(errorsOf(hostWith([small]), [], { mountGiB: { etcd: 0.5 } })).toEqual([]);
    // A directory that is no mount is measured with /var/lib.
    expect(errorsOf(hostWith([line('/var/lib/etcd', '/', 1, 'rw')]))).toEqual([]);
    expect(warningsOf(hostWith([line('/var/lib/kubelet', '/var', 9, 'rw,noexec')]))).toEqual(['mounts']);
  });

  it.skipIf(lacks)('are found on a host, with their options and free space', async () => {
    const before = [
      'mount -t tmpfs none /var/lib',
      'mkdir -p /var/lib/etcd /var/lib/matryoshka',
      'mount -t tmpfs -o size=64m,noexec none /var/lib/matryoshka',
      'mount -t tmpfs -o size=64m none /var/lib/etcd',
    ].join('\n');
    const { stdout } = await execa('unshare', ['--mount', 'sh', '-s'], {
      input: `${before}\n${scriptOf([mounts], {})}`,
    });
    const answers = said(stdout).all('mount');
    expect(answers).toContainEqual(expect.stringMatching(/^\/var\/lib\/etcd \/var\/lib\/etcd 65536 rw/));
    expect(answers).toContainEqual(expect.stringMatching(/^\/var\/lib\/kubelet \/var\/lib \d+ rw/));
    const host = hostWith(answers.map((text) => `@mount ${text}`));
    const errors = findingsOf(host).flatMap((found) => found.errors);
    expect(errors).toEqual([
      expect.stringContaining('"mount -o remount,exec /var/lib/matryoshka"'),
      expect.stringContaining('/var/lib/matryoshka is a file system of its own with 0 GiB free'),
      expect.stringContaining('/var/lib/etcd is a file system of its own with 0 GiB free'),
    ]);
  });
});
