import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostFolder } from './role-script.fixture.ts';

/** Which data of before a restore keeps, and when it goes. A directory represents a control plane. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');

let root = '';
const etcd = () => join(root, 'var/lib/etcd');
beforeEach(async () => {
  root = await hostFolder();
  await mkdir(join(root, 'etc/kubernetes/manifests'), { recursive: true });
  await writeFile(join(root, 'etc/kubernetes/manifests/etcd.yaml'), 'pod');
  await appendFile(join(root, 'etc/matryoshka/made'), 'control-plane tree /var/lib/etcd\n');
  await begins('original');
});
afterEach(() => rm(root, { recursive: true }));

/** Puts data into etcd's folder. */
async function begins(data: string): Promise<void> {
  await mkdir(join(etcd(), 'member'), { recursive: true });
  await writeFile(join(etcd(), 'member/db'), data);
}

/** Runs a script of the restore of that sequence. `OWN_DISK`: whether etcd has a disk of its own. */
async function run(
  script: 'stop' | 'stop-member' | 'finish' | 'keys',
  sequence: number,
  own = '',
  keys = '',
) {
  const text = `${read('files/prelude.sh')}
    systemctl() { :; }; ctr() { :; }; kubeadm() { echo "$*" > "$R/kubeadm"; }; sync() { :; }; write_resolv_conf() { :; }
    forget_programs() { :; }; mountpoint() { [ -n "${own}" ]; }
    ${read('roles/restore/files/keep.sh')}
    ${read(`roles/restore/files/${script}.sh`)}`;
  const env = { MATRYOSHKA_ROOT: root, SEQUENCE: String(sequence), HAS_ETCD: 'yes', AUTHORITIES: keys };
  const { exitCode, stderr } = await execa('/bin/bash', ['--norc', '-c', text], { env, reject: false });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
}

describe.each([
  ['var/lib/matryoshka/before-restore', '', '/etcd'],
  ['var/lib/etcd/.before-restore', 'yes', ''],
])('in %s', (folder, own, below) => {
  const keptBy = (sequence: number) =>
    readFile(join(root, folder, `${sequence}${below}/member/db`), 'utf8').catch(() => undefined);

  it('keeps the original data through attempts that fail, until a later restore has succeeded', async () => {
    await run('stop', 7, own);
    expect(await keptBy(7)).toBe('original');
    expect(existsSync(join(etcd(), 'member'))).toBe(false);
    expect(existsSync(join(root, 'etc/kubernetes/manifests'))).toBe(false);
    // Otherwise kubeadm would empty etcd's folder.
    expect(await readFile(join(root, 'kubeadm'), 'utf8')).toContain('--skip-phases=remove-etcd-member');

    // A second attempt of the operation drops what the first one has made.
    await begins('half of 7');
    await run('stop', 7, own);
    expect(await keptBy(7)).toBe('original');
    expect(existsSync(join(etcd(), 'member'))).toBe(false);

    // It failed. The next operation keeps everything, and succeeds.
    await begins('whole of 7');
    await run('stop', 8, own);
    await run('finish', 8, own);
    expect([await keptBy(7), await keptBy(8)]).toEqual(['original', 'whole of 7']);

    await begins('of 8');
    await run('stop', 9, own);
    expect(await keptBy(7)).toBe('original');
    await run('finish', 9, own);
    expect([await keptBy(7), await keptBy(8), await keptBy(9)]).toEqual([undefined, undefined, 'of 8']);
    // Interrupted and run again, it removes no more.
    const sent = join(root, 'var/lib/matryoshka/restore');
    await mkdir(sent, { recursive: true });
    await run('finish', 9, own);
    expect(await keptBy(9)).toBe('of 8');
    // A further attempt sends the snapshot again, which is not encrypted.
    expect(existsSync(sent)).toBe(false);
  });

  it('keeps certificates and data of an external member, whose unit goes first', async () => {
    await rm(join(root, 'etc/matryoshka/made'));
    const unit = join(root, 'etc/systemd/system/matryoshka-etcd.service');
    for (const folder of ['etc/systemd/system', 'etc/matryoshka/etcd'])
      await mkdir(join(root, folder), { recursive: true });
    await writeFile(unit, 'unit');
    await writeFile(join(root, 'etc/matryoshka/etcd/server.key'), 'key');
    await appendFile(join(root, 'etc/matryoshka/made'), 'etcd tree /var/lib/etcd\n');
    await run('stop-member', 7, own);
    expect(existsSync(unit)).toBe(false);
    expect(existsSync(join(etcd(), 'member'))).toBe(false);
    expect(await keptBy(7)).toBe('original');
    const key = join(root, 'var/lib/matryoshka/before-restore/7/etcd-certificates/server.key');
    expect(await readFile(key, 'utf8')).toBe('key');
    // A second attempt drops what the first one has made.
    await begins('half of 7');
    await run('stop-member', 7, own);
    expect(await keptBy(7)).toBe('original');
    await run('finish', 7, own);
    expect(await keptBy(7)).toBe('original');
  });

  it('keeps the keys of before, and continues a move that was interrupted', async () => {
    await writeFile(join(etcd(), 'other'), 'file');
    await run('stop', 7, own);
    const before = join(root, 'var/lib/matryoshka/before-restore/7');
    expect(await readdir(join(before, 'kubernetes/manifests'))).toEqual(['etcd.yaml']);
    // As if it had ended before the last entry was moved.
    await rm(join(before, 'complete'));
    await writeFile(join(etcd(), 'later'), 'file');
    await run('stop', 7, own);
    expect(await keptBy(7)).toBe('original');
    expect((await readdir(join(root, folder, `7${below}`))).toSorted()).toEqual(['later', 'member', 'other']);
  });
});

it('accepts tokens by the keys from before as well, and issues the client certificate of etcd again', async () => {
  const pem = (key: string) => `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----\n`;
  const pki = join(root, 'etc/kubernetes/pki');
  const bundle = join(root, 'bundle');
  for (const folder of [pki, join(bundle, 'matryoshka/next')]) await mkdir(folder, { recursive: true });
  await writeFile(join(pki, 'sa.pub'), pem('later') + pem('shared'));
  await writeFile(join(bundle, 'sa.pub'), pem('shared') + pem('earlier'));
  for (const file of ['apiserver-etcd-client.crt', 'apiserver-etcd-client.key', 'matryoshka/next/sa.key'])
    await writeFile(join(bundle, file), 'old');
  const { stdout } = await execa('tar', ['-C', bundle, '-czf', '-', '.'], { encoding: 'buffer' });
  await run('stop', 7);
  await rm(pki, { recursive: true });
  await run('keys', 7, '', Buffer.from(stdout).toString('base64'));
  expect(await readFile(join(pki, 'sa.pub'), 'utf8')).toBe(pem('shared') + pem('earlier') + pem('later'));
  expect((await readdir(pki)).toSorted()).toEqual(['matryoshka', 'sa.pub']);
  expect(await readdir(join(pki, 'matryoshka'))).toEqual([]);
});
