import { existsSync } from 'node:fs';
import { readdir, rm, symlink } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { repairRole } from './repair-role.fixture.ts';
import { MADE, unitFile, watchedHost } from './watched-host.fixture.ts';

const { at, text, put, bash, run } = watchedHost();
const { compare, putBack, verify, script } = repairRole({ bash, run });

const UNIT = 'matryoshka-etcd.service';
const FILE = unitFile(UNIT);
const CA = '/etc/matryoshka/etcd/ca.crt';
const CERTIFICATE = '/etc/matryoshka/etcd/server.crt';
const KEY = '/etc/matryoshka/etcd/server.key';
const BINARY = '/var/lib/matryoshka/etcd/usr/local/bin/etcd';
const made = (data = '/var/lib/etcd') =>
  `[Service]\nExecStart=${BINARY} --name=n1 --data-dir=${data} \\\n  --initial-cluster-token=x\nRestart=always\n`;
const systemd = (state = 'active', dropIns = '', file = FILE) =>
  put(
    '/units',
    `Id=${UNIT}\nUnitFileState=enabled\nActiveState=${state}\nFragmentPath=${file}\nDropInPaths=${dropIns}\n`,
  );
const noData = () => rm(at('/var/lib/etcd/member'), { recursive: true });
const pending = async () =>
  existsSync(at('/var/lib/matryoshka/repair'))
    ? (await text('/var/lib/matryoshka/repair')).trim().split('\n')
    : [];

beforeEach(async () => {
  await run('begin');
  await rm(at('/etc/kubernetes'), { recursive: true });
  await rm(at('/var/lib/kubelet'), { recursive: true });
  await put(
    MADE,
    `cluster mine\nhost line /etc/hosts\nhost unit matryoshka-endpoint.service\netcd tree /etc/matryoshka/etcd\netcd unit ${UNIT}\netcd file ${FILE}\n`,
  );
  await put(FILE, made());
  for (const path of [CA, CERTIFICATE]) await put(path, path, 0o600);
  await put(KEY, 'key', 0o600);
  await put(BINARY, 'e'.repeat(2 * 1024 * 1024), 0o755);
  await put('/var/lib/etcd/member/wal/0.wal', 'w');
  await put('/var/lib/etcd/member/snap/db', 'd');
  await systemd();
  await run('end');
});

describe('the repair of an etcd host', () => {
  it('restores certificates, the authority and the unit, and requests a restart of the member', async () => {
    await rm(at(CA));
    await put(CERTIFICATE, 'theirs', 0o600);
    await put(FILE, `${made()}Nice=1\n`);
    await putBack();
    expect([await text(CA), await text(CERTIFICATE), await text(FILE)]).toEqual([CA, CERTIFICATE, made()]);
    expect(await pending()).toEqual(['unit matryoshka-etcd']);
  });

  it('requests the script that reinstalls a changed program', async () => {
    await put(BINARY, 'x', 0o755);
    await put('/etc/matryoshka/installed/etcd', 'image');
    expect(await compare()).toMatchObject({ scripts: 'etcd/programs.sh', repairs: 'yes' });
    await putBack();
    expect(await readdir(at('/etc/matryoshka/installed'))).not.toContain('etcd');
    expect(await pending()).toEqual(['unit matryoshka-etcd']);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'a certificate is gone, and its data too',
      async () => {
        await rm(at(CERTIFICATE));
        await noData();
      },
      `${CERTIFICATE} missing (would begin an empty etcd: there is no data in /var/lib/etcd)`,
    ],
    [
      'a program is gone, and its data too',
      async () => {
        await rm(at(BINARY));
        await noData();
      },
      `${BINARY} missing (would begin an empty etcd: there is no data in /var/lib/etcd)`,
    ],
    ['a key is gone, which nobody here can make', () => rm(at(KEY)), `${KEY} missing`],
    [
      'its unit has its data elsewhere',
      () => put(FILE, made('/data')),
      `${FILE} changed (may have other data than it was made with)`,
    ],
    [
      'its unit is gone, and its data too',
      async () => {
        await rm(at(FILE));
        await noData();
      },
      `${FILE} missing (would begin an empty etcd: there is no data in /var/lib/etcd)`,
    ],
    [
      'it was stopped, and its data is gone',
      async () => {
        await systemd('inactive');
        await noData();
      },
      `${UNIT} not running (would begin an empty etcd: there is no data in /var/lib/etcd)`,
    ],
    [
      'somebody’s drop-in has its data elsewhere',
      async () => {
        await put(`${FILE}.d/x.conf`, '[Service]\nBindPaths=/data/etcd:/var/lib/etcd\n');
        await systemd('active', `${FILE}.d/x.conf`);
      },
      `${UNIT} changed by ${FILE}.d/x.conf (may have other data than it was made with)`,
    ],
    [
      'another unit takes its place',
      async () => {
        await rm(at(FILE));
        await systemd('active', '', '/usr/lib/systemd/system/matryoshka-etcd.service');
      },
      `${UNIT} runs by /usr/lib/systemd/system/matryoshka-etcd.service (may have other data than it was made with)`,
    ],
  ])('changes nothing if %s', async (_, drift, says) => {
    await drift();
    expect(await compare()).not.toHaveProperty('repairs');
    expect(await verify()).toContain(`cannot be made again: ${says}`);
  });

  it('goes on if a drop-in of a user keeps the data directory', async () => {
    await put(`${FILE}.d/x.conf`, '[Service]\nNice=1\n');
    await systemd('active', `${FILE}.d/x.conf`);
    expect((await compare())['repairs']).toBe('yes');
  });

  it('restores a masked unit', async () => {
    await rm(at(FILE));
    await symlink('/dev/null', at(FILE));
    await putBack();
    expect(await text(FILE)).toBe(made());
  });

  it('restores only a member that does not answer in its first step', async () => {
    await put(FILE, `${made()}Nice=1\n`);
    const curl = (code: number) => put('/bin/curl', `#!/bin/sh\nexit ${code}\n`, 0o755);
    const vars = { ONLY_DEAD: 'yes', IS_MASTER: '', IP: '10.0.0.1' };
    await curl(0);
    await putBack(vars);
    expect(await text(FILE)).not.toBe(made());
    await curl(7);
    await putBack(vars);
    expect(await text(FILE)).toBe(made());
  });

  it('requires a baseline, except in the check of etcd alone', async () => {
    await rm(at('/etc/matryoshka/seal'));
    expect(await verify()).toMatch(/^this host has no baseline/);
    expect(await script('verify.sh', { ETCD_ONLY: 'yes', WATCH: '', TRIES: '1' })).toBe('');
  });
});
