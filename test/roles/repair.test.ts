import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { repairRole } from './repair-role.fixture.ts';
import {
  APISERVER,
  CA_KEY,
  CONFIG,
  ENCRYPTION,
  KUBELET,
  MADE,
  unitFile,
  watchedHost,
} from './watched-host.fixture.ts';

const { at, text, put, units, bash, run, check } = watchedHost();

const APISERVER_KEY = '/etc/kubernetes/pki/apiserver.key';
const DROP_IN = `${unitFile('kubelet.service')}.d/x.conf`;
const PENDING = '/var/lib/matryoshka/repair';

const { compare, putBack, verify, inOrder } = repairRole({ bash, run });
const pending = async () => (existsSync(at(PENDING)) ? (await text(PENDING)).trim().split('\n') : []);

beforeEach(async () => {
  await put('/var/lib/matryoshka/.keep', '');
  await put('/bin/swapoff', '#!/bin/sh\nprintf "Filename\\n" > "$MATRYOSHKA_ROOT/proc/swaps"\n', 0o755);
});

describe('the copies kept for a repair', () => {
  it('include each small file, for root alone, and no secret', async () => {
    const { mode } = await stat(at('/etc/matryoshka/kept'));
    expect(mode & 0o777).toBe(0o700);
    const copies = await readdir(at('/etc/matryoshka/kept'));
    const kept = await Promise.all(copies.map((name) => text(`/etc/matryoshka/kept/${name}`)));
    expect(kept).toEqual(expect.arrayContaining(['version = 3\n', 'a', 'ca', 'kubelet']));
    expect(kept.filter((content) => /key|secret/.test(content))).toEqual([]);
  });

  it.each([
    'token: abc',
    '{"password":"abc"}',
    'value: http://me:abc@10.0.0.9:3128',
    '    - --proxy-password=abc',
    'clientSecret: abc',
  ])('exclude a manifest with `%s`, even if an earlier version kept it', async (line) => {
    const kept = async () => {
      const names = await readdir(at('/etc/matryoshka/kept'));
      return Promise.all(names.map((name) => text(`/etc/matryoshka/kept/${name}`)));
    };
    const content = `spec:\n${line}\n`;
    await run('begin');
    await put(APISERVER, content, 0o600);
    // A copy as an earlier version kept it.
    await put(`/etc/matryoshka/kept/${createHash('sha256').update(content).digest('hex')}`, content);
    await put('/etc/kubernetes/manifests/etcd.yaml', '--initial-cluster-token=x --token-ttl=0\n');
    await run('end');
    expect((await kept()).filter((content) => content.includes(line))).toEqual([]);
    expect(await kept()).toContain('--initial-cluster-token=x --token-ttl=0\n');
  });

  it('include a file that appears later', async () => {
    await put('/etc/cni/net.d/10-flannel.conflist', 'flannel');
    await check();
    await rm(at('/etc/cni/net.d/10-flannel.conflist'));
    await putBack();
    expect(await text('/etc/cni/net.d/10-flannel.conflist')).toBe('flannel');
  });

  it('hold the baseline, not an edit of a user, and follow a new baseline', async () => {
    const kept = () => readdir(at('/etc/matryoshka/kept'));
    const before = await kept();
    await put(CONFIG, 'theirs');
    await run('begin');
    await run('end');
    expect(await kept()).toEqual(before);
    await run('begin');
    await put(CONFIG, 'ours');
    await run('end');
    const after = await kept();
    expect(after).toHaveLength(before.length);
    expect(after).not.toEqual(before);
  });
});

const MENDED: readonly [string, () => Promise<unknown>, string[]][] = [
  ['an edited configuration', () => put(CONFIG, 'version = 2\n'), ['unit containerd']],
  ['one that is gone', () => rm(at(CONFIG)), ['unit containerd']],
  ['its mode', () => chmod(at(CONFIG), 0o600), []],
  ['its owner', () => chown(at(CONFIG), 7, 8), []],
  ['the mode of a key', () => chmod(at(CA_KEY), 0o644), []],
  [
    'a link in its place',
    async () => {
      await rename(at(CONFIG), at('/elsewhere'));
      await symlink(at('/elsewhere'), at(CONFIG));
    },
    ['unit containerd'],
  ],
  ['the kubelet’s configuration', () => put('/var/lib/kubelet/config.yaml', 'kubelex'), ['unit kubelet']],
  ['a unit’s file', () => put(unitFile('kubelet.service'), 'x'), ['unit kubelet']],
  ['the list of what was made', () => put(MADE, 'cluster mine\n'), []],
  ['a kernel setting', () => put('/proc/sys/net/ipv4/ip_forward', '0\n'), []],
  ['swap', () => put('/proc/swaps', 'Filename\n/swap\n'), []],
  [
    'the certificate of the authority',
    () => rm(at('/etc/kubernetes/pki/ca.crt')),
    ['unit kubelet', 'pod kube-apiserver', 'pod kube-controller-manager'],
  ],
];

describe('a repair', () => {
  it.each(MENDED)(
    'restores %s, which leaves no drift, and records the restarts that follow',
    async (_, drift, starts) => {
      await drift();
      expect((await compare())['repairs']).toBe('yes');
      expect(await putBack()).not.toContain('failed');
      expect(await pending()).toEqual(starts);
      expect(await check()).toEqual([]);
      expect(await verify()).toBe('did: changed');
    },
  );

  it('sets a drop-in of a user aside, and overwrites no earlier one', async () => {
    await put(DROP_IN, '[Service]\nNice=1\n');
    await put(`${DROP_IN}.set-aside`, 'of before');
    await units('kubelet.service', { DropInPaths: DROP_IN });
    expect(await putBack()).toContain(`changed: ${DROP_IN} is set aside as ${DROP_IN}.set-aside~`);
    expect(existsSync(at(DROP_IN))).toBe(false);
    expect(await text(`${DROP_IN}.set-aside~`)).toContain('Nice=1');
    expect(await text(`${DROP_IN}.set-aside`)).toBe('of before');
    expect(await pending()).toEqual(['unit kubelet']);
  });

  it('restores a file whose folder is gone, with the mode of the folder', async () => {
    await rm(at('/etc/containerd'), { recursive: true });
    await putBack();
    expect((await stat(at('/etc/containerd'))).mode & 0o777).toBe(0o755);
  });

  it('keeps edited files for root alone under /var/lib/matryoshka', async () => {
    const aside = `/var/lib/matryoshka/set-aside${CONFIG}`;
    for (const content of ['theirs', 'theirs', 'other']) {
      await put(CONFIG, content);
      await putBack();
    }
    expect([await text(aside), await text(`${aside}~`)]).toEqual(['theirs', 'other']);
    expect((await stat(at(aside))).mode & 0o777).toBe(0o600);
    expect(existsSync(at(`${aside}~~`))).toBe(false);
  });

  it('restores the manifest before any task reads it', async () => {
    await put(MADE, 'cluster mine\n');
    await put(CONFIG, 'theirs');
    expect(await inOrder()).not.toContain('failed');
    expect(await text(CONFIG)).toBe('version = 3\n');
    expect(await text(MADE)).toContain(`runtime file ${CONFIG}`);
  });

  it('leaves a binary to the script of its role, and reports it until then', async () => {
    await put('/etc/matryoshka/installed/kubelet', 'sum');
    await put(KUBELET, 'newer');
    expect(await compare()).toMatchObject({ repairs: 'yes', scripts: 'kubelet/kubelet.sh' });
    await putBack();
    expect(existsSync(at('/etc/matryoshka/installed/kubelet'))).toBe(false);
    expect(await text(KUBELET)).toBe('newer');
    expect(await pending()).toEqual(['unit kubelet']);
    expect(await verify()).toMatch(/^still differs from what was made: \/usr\/local\/bin\/kubelet changed; /);
  });

  it('leaves its lines of /etc/hosts to the scripts that write them', async () => {
    await put('/etc/hosts', '');
    expect(await compare()).toMatchObject({
      repairs: 'yes',
      scripts: 'host/endpoint.sh host/keep-endpoint.sh',
    });
  });

  it('changes nothing without drift', async () => {
    expect(await compare()).toEqual({ differs: expect.any(String), scripts: '' });
    expect(await verify()).toBe('did: changed');
  });

  it('stays due while restarts of an earlier attempt are pending', async () => {
    await put(CONFIG, 'theirs');
    await putBack();
    expect(await compare()).toMatchObject({ repairs: 'yes', scripts: '' });
    await put(`${PENDING}.why`, 'others do not answer; ask again\n');
    expect(await verify()).toMatch(/^others do not answer; ask again/);
  });
});

describe('a file that cannot be recreated', () => {
  it.each<[string, () => Promise<unknown>, string]>([
    ['the key of an authority that is gone', () => rm(at(CA_KEY)), `${CA_KEY} missing`],
    ['one that is another', () => put(CA_KEY, 'kex of the authority', 0o600), `${CA_KEY} changed`],
    ['the key that encrypts Secrets', () => rm(at(ENCRYPTION)), `${ENCRYPTION} missing`],
    [
      'what an authority that is gone would sign',
      async () => {
        await rm(at(CA_KEY));
        await rm(at(APISERVER_KEY));
      },
      `${APISERVER_KEY} missing, ${CA_KEY} missing`,
    ],
  ])('is reported, and the host stays unchanged: %s', async (_, drift, says) => {
    await put(CONFIG, 'theirs');
    await drift();
    expect(await compare()).not.toHaveProperty('repairs');
    expect(await inOrder()).toBe('');
    expect(await verify()).toMatch(`cannot be made again: ${says}; nothing was changed on this host`);
  });

  it('is unknown on a host without a baseline, which gets none', async () => {
    await rm(at('/etc/matryoshka/seal'));
    expect(await compare()).toEqual({});
    expect(await verify()).toMatch(/^this host has no baseline/);
    expect(existsSync(at('/etc/matryoshka/seal'))).toBe(false);
  });

  it('includes one whose kept copy was edited too', async () => {
    for (const name of await readdir(at('/etc/matryoshka/kept')))
      await put(`/etc/matryoshka/kept/${name}`, 'x');
    await rm(at('/etc/kubernetes/kubelet.conf'));
    expect(await compare()).not.toHaveProperty('repairs');
  });
});

describe('etcd beside a control plane', () => {
  const ETCD = '/etc/kubernetes/manifests/etcd.yaml';
  const made = (data: string, flag = '/var/lib/etcd') =>
    `- --data-dir=${flag}\n- --snapshot-count=10000\n  - hostPath:\n      path: ${data}\n    name: etcd-data\n`;
  beforeEach(async () => {
    await run('begin');
    await put(ETCD, made('/var/lib/etcd'), 0o600);
    await put(APISERVER, '    - --etcd-servers=https://127.0.0.1:2379\n', 0o600);
    await run('end');
    await put('/var/lib/etcd/member/wal/0.wal', 'w');
    await put('/var/lib/etcd/member/snap/db', 'd');
  });

  it('is restored if its data is in place, whether its manifest was edited or removed', async () => {
    await put(ETCD, `${made('/var/lib/etcd').replace('10000', '1')}`, 0o600);
    expect((await compare())['repairs']).toBe('yes');
    await rm(at(ETCD));
    await putBack();
    expect(await pending()).toEqual(['pod etcd']);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['has its data elsewhere on the host', () => put(ETCD, made('/data/etcd'), 0o600), 'may have other data'],
    [
      'has its data elsewhere in the container',
      () => put(ETCD, made('/var/lib/etcd', '/x'), 0o600),
      'may have other data',
    ],
    ['cannot be read', () => put(ETCD, 'x', 0o600), 'may have other data than it was made with'],
    [
      'has no data',
      async () => {
        await rm(at(ETCD));
        await rm(at('/var/lib/etcd/member'), { recursive: true });
      },
      'would begin an empty etcd: there is no data in /var/lib/etcd',
    ],
    [
      'runs by another manifest',
      () => rename(at(ETCD), at(`${ETCD}.yaml`)),
      `${ETCD}.yaml runs an etcd already`,
    ],
  ])('stays unchanged, with its host, if it %s', async (_, drift, says) => {
    await drift();
    expect(await compare()).not.toHaveProperty('repairs');
    const said = await verify();
    expect(said).toContain(`cannot be made again: ${ETCD} `);
    expect(said).toContain(says);
  });

  it('is not restored if a user stopped the kubelet and removed the data', async () => {
    await rm(at('/var/lib/etcd/member'), { recursive: true });
    await units('kubelet.service', { ActiveState: 'inactive' });
    expect(await compare()).not.toHaveProperty('repairs');
  });

  it('is not restored if etcd is external by now, nor is its API server flag', async () => {
    await rm(at(ETCD));
    expect(await compare({ ETCD_HERE: '' })).not.toHaveProperty('repairs');
    await put(ETCD, made('/var/lib/etcd'), 0o600);
    await put(APISERVER, '    - --etcd-servers=https://10.0.0.9:2379\n', 0o600);
    expect((await compare())['repairs']).toBe('yes');
    expect(await compare({ ETCD_SERVERS: 'https://10.0.0.9:2379' })).not.toHaveProperty('repairs');
  });
});
