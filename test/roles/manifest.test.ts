import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FOLDERS } from '#precheck/checks/links.ts';

const ansible = join(import.meta.dirname, '../..', 'ansible');
const prelude = readFileSync(join(ansible, 'files/prelude.sh'), 'utf8');

/** A directory that represents a host. */
let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'manifest-'));
  await put('/etc/matryoshka/made', 'cluster mine\n');
  await mkdir(join(root, 'var/lib/matryoshka'), { recursive: true });
});
afterEach(() => rm(root, { recursive: true }));

async function put(path: string, text = ''): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
const has = (path: string) => existsSync(join(root, path));
const manifest = async () =>
  (await readFile(join(root, 'etc/matryoshka/made'), 'utf8')).trim().split('\n').slice(1);
const run = (script: string) =>
  execa('/bin/bash', ['--norc', '-s'], {
    input: `main() {\n${prelude}\nROLE=role\n${script}\n}\nmain </dev/null\n`,
    env: { MATRYOSHKA_ROOT: root },
    reject: false,
  });

/** Returns the scripts that create files on a host. */
const roleScripts = (): string[] =>
  ['host', 'runtime', 'kubelet', 'network', 'control-plane'].flatMap((role) => {
    const folder = join(ansible, 'roles', role, 'files');
    return readdirSync(folder).map((name) =>
      readFileSync(join(folder, name), 'utf8').replaceAll(/^\s*#.*$/gm, ''),
    );
  });

describe('a systemd unit of Matryoshka', () => {
  const wanted = '/etc/systemd/system/multi-user.target.wants/u.service';
  const byLoad = (answer: string) =>
    `systemctl() { case "$*" in show*) echo ${answer} ;; *) echo "$*" ;; esac; }`;

  it('is enabled by its WantedBy link, and reloaded only if systemd asks for it', async () => {
    await put('/etc/systemd/system/u.service', '[Install]\nWantedBy=multi-user.target\n');
    expect((await run(`${byLoad('no')}\nenable_unit u.service`)).stdout).toBe('');
    expect(await readlink(join(root, wanted))).toBe('/etc/systemd/system/u.service');
    expect((await run(`${byLoad('yes')}\nenable_unit u.service`)).stdout).toBe('daemon-reload');
  });

  it('is stopped and loses its links when it is disabled; a mask and other units stay', async () => {
    await run(`${byLoad('no')}\nenable_unit u.service; enable_unit other.service`);
    const targets = join(root, 'etc/systemd/system');
    await mkdir(join(targets, 'theirs.target.requires'));
    await symlink('/etc/systemd/system/u.service', join(targets, 'theirs.target.requires/u.service'));
    await symlink('/dev/null', join(targets, 'u.service'));
    expect((await run(`${byLoad('no')}\ndisable_unit u.service`)).stdout).toBe('stop u.service');
    expect(readdirSync(join(targets, 'multi-user.target.wants'))).toEqual(['other.service']);
    expect(readdirSync(join(targets, 'theirs.target.requires'))).toEqual([]);
    expect(await readlink(join(targets, 'u.service'))).toBe('/dev/null');
  });
});

describe('the manifest', () => {
  it('lists each path once, before it exists, with its role', async () => {
    expect(
      (await run('own tree /a; own file /b /c; own tree /a; mkdir -p "$R/a"; own tree /a')).exitCode,
    ).toBe(0);
    expect(await manifest()).toEqual(['role tree /a', 'role file /b', 'role file /c']);
  });

  it('lists things of several kinds by one call', async () => {
    await run("own tree /a /b dir /c unit u.service table 'ip mine' before 'what was there'");
    expect(await manifest()).toEqual([
      ...['role tree /a', 'role tree /b', 'role dir /c', 'role unit u.service'],
      ...['role table ip mine', 'role before what was there'],
    ]);
  });

  it('knows every kind that a role uses', async () => {
    const kinds = new Set(
      roleScripts().flatMap((text) =>
        [...text.matchAll(/\b(?:own\s+|mine\+?=\(\s*)([a-z]+) /g)].map(([, kind]) => kind),
      ),
    );
    expect(kinds.size).toBeGreaterThan(5);
    for (const kind of kinds) {
      const answer = await run(`set -u\nown ${kind} /none/${kind}`);
      expect([answer.exitCode, answer.stderr], kind).toEqual([0, '']);
    }
    expect((await run('set -u\nown something /a')).stderr).toBe('own: something is no kind');
  });

  it.each([
    ['a file of a user’s', '/b', 'own file /b'],
    ['a tree of somebody’s', '/var/lib/etcd/default/member/db', 'own tree /var/lib/etcd'],
    [
      'a file of somebody’s that is to be written',
      '/etc/containerd/config.toml',
      'put /etc/containerd/config.toml 644 x',
    ],
  ])('rejects %s, which stays unchanged', async (_what, path, script) => {
    await put(path, 'precious');
    const answer = await run(script);
    expect(answer.exitCode).toBe(1);
    expect(answer.stderr).toMatch(/is (there|not empty), and was not made by Matryoshka/);
    expect(await readFile(join(root, path), 'utf8')).toBe('precious');
    expect(await manifest()).toEqual([]);
  });

  it('drops an incomplete last line before it appends', async () => {
    await put('/etc/matryoshka/made', 'cluster mine\nrole tree /a\nrole tree /var/l');
    expect(
      (await run('own file /b; is_made tree /a && is_made file /b && ! is_made tree /var/l')).exitCode,
    ).toBe(0);
    expect(await manifest()).toEqual(['role tree /a', 'role file /b']);
  });

  it('rejects a tree that is a link to another disk', async () => {
    await mkdir(join(root, 'disk'));
    await mkdir(join(root, 'var/lib'), { recursive: true });
    await symlink(join(root, 'disk'), join(root, 'var/lib/containerd'));
    const answer = await run('own tree /var/lib/containerd');
    expect([answer.exitCode, answer.stderr]).toEqual([1, expect.stringContaining('is a link to')]);
    expect(await manifest()).toEqual([]);
  });

  it('lists only the content of a folder that exists, such as a mount point', async () => {
    await mkdir(join(root, 'data/lost+found'), { recursive: true });
    await run('own tree /data');
    expect(await manifest()).toEqual(['role content /data']);
  });
});

describe('unmake', () => {
  it('removes everything that is listed for the role, and nothing else', async () => {
    await run('own tree /a; own dir /opt/cni /opt/cni/bin; own file /opt/cni/bin/ours; own file /b');
    for (const path of ['/a/deep/file', '/opt/cni/bin/ours', '/opt/cni/bin/theirs', '/b', '/c'])
      await put(path);
    await put('/etc/matryoshka/made', `${(await manifest()).join('\n')}\nother file /c\n`);
    expect((await run('unmake')).exitCode).toBe(0);
    expect(['/a', '/b', '/c', '/opt/cni/bin/ours', '/opt/cni/bin/theirs'].filter(has)).toEqual([
      '/c',
      '/opt/cni/bin/theirs',
    ]);
  });

  it('keeps a folder that existed before, with its earlier content', async () => {
    await put('/data/lost+found/x');
    await run('own tree /data');
    await put('/data/ours/file');
    await run('unmake');
    expect(['/data/ours', '/data/lost+found/x'].filter(has)).toEqual(['/data/lost+found/x']);
  });

  it.each([
    '/',
    '/etc',
    '/usr',
    '/var',
    '/var/lib',
    '/home',
    '/root',
    '/boot',
    '/bin',
    '/usr/local/bin',
    '/etc/',
    '/var//lib',
    '/a/..',
    'etc',
  ])('never touches a system path, even if it is listed: %s', async (path) => {
    await put(join('/', path, 'precious'));
    await put(
      '/etc/matryoshka/made',
      `cluster mine\nrole tree ${path}\nrole content ${path}\nrole file ${path}\nrole dir ${path}\n`,
    );
    const answer = await run('unmake');
    expect([answer.exitCode, has(join('/', path, 'precious'))]).toEqual([1, true]);
    expect(answer.stderr).toContain(`system`);
  });

  it('never removes the target of a link, reports the link, and fails', async () => {
    await put('/disk/etcd/member/db', 'precious');
    await mkdir(join(root, 'var/lib'), { recursive: true });
    await symlink(join(root, 'disk/etcd'), join(root, 'var/lib/etcd'));
    for (const kind of ['tree', 'content']) {
      await put('/etc/matryoshka/made', `cluster mine\nrole ${kind} /var/lib/etcd\n`);
      const answer = await run('unmake');
      expect([answer.exitCode, answer.stderr]).toEqual([
        1,
        expect.stringMatching(/^not removed, because \/var\/lib\/etcd is a link to .*disk\/etcd: /),
      ]);
    }
    expect(await readFile(join(root, 'disk/etcd/member/db'), 'utf8')).toBe('precious');
    await rm(join(root, 'disk/etcd/member'), { recursive: true });
    expect((await run('unmake')).exitCode).toBe(0);
  });

  it('fails if a listed path remains', async () => {
    await put('/a/file');
    await put('/etc/matryoshka/made', 'cluster mine\nrole tree /a\n');
    const answer = await run(
      'rm() { :; }; export -f rm; find() { case "$*" in *-exec*) ;; *) command find "$@" ;; esac; }\nunmake',
    );
    expect([answer.exitCode, answer.stderr]).toEqual([1, expect.stringContaining('; of /a')]);
  });

  it('ignores an incomplete last line, reports it, and fails if its path exists', async () => {
    await put('/var/lib/kubelet/somebody’s');
    await put('/a/file');
    await put('/etc/matryoshka/made', 'cluster mine\nrole tree /a\nrole tree /var/lib/kubelet');
    const answer = await run('unmake');
    expect([answer.exitCode, has('/a'), has('/var/lib/kubelet/somebody’s')]).toEqual([1, false, true]);
    expect(answer.stderr).toContain('not removed: /var/lib/kubelet; the last line of');
    // An entry is listed before its file is created, so a missing file is no error.
    await put('/etc/matryoshka/made', 'cluster mine\nrole tree /var/lib/kube');
    expect((await run('unmake')).exitCode).toBe(0);
  });

  it('does nothing without a manifest', async () => {
    await put('/a/file');
    await rm(join(root, 'etc/matryoshka/made'));
    expect((await run('unmake')).exitCode).toBe(0);
    expect(has('/a/file')).toBe(true);
  });
});

describe('a large tree', () => {
  const BACKGROUND = `systemd-run() { echo "background: \${*: -1}"; }\n`;

  it.each([
    ['tree', '/var/lib/.containerd.matryoshka-removed'],
    ['content', '/var/lib/containerd/.matryoshka-removed'],
  ])('is moved aside at once, and deleted in the background if that takes long: %s', async (kind, aside) => {
    await put('/var/lib/containerd/store/image');
    await put('/etc/matryoshka/made', `cluster mine\nrole ${kind} /var/lib/containerd\n`);
    const slow = await run(`${BACKGROUND}timeout() { return 124; }\nunmake`);
    expect([slow.exitCode, slow.stderr]).toEqual([0, '']);
    expect(slow.stdout).toContain(`background: ${root}${aside}`);
    expect([has('/var/lib/containerd/store'), has(aside)]).toEqual([false, true]);
    // A power cut stopped the deletion. The next reset or cluster continues it, and does not treat the data as foreign.
    expect((await run('is_empty "$R/var/lib/containerd" && delete_asides')).exitCode).toBe(0);
    expect(has(aside)).toBe(false);
  });

  it('fails the reset if it cannot be deleted', async () => {
    await put('/var/lib/kubelet/pods/volume');
    await put('/etc/matryoshka/made', 'cluster mine\nrole tree /var/lib/kubelet\n');
    const answer = await run('timeout() { return 1; }\nunmake');
    expect([answer.exitCode, answer.stderr]).toEqual([
      1,
      expect.stringContaining('.kubelet.matryoshka-removed'),
    ]);
  });
});

describe('ipsets', () => {
  const script = (name: string) => readFileSync(join(ansible, 'roles/network/files', name), 'utf8');
  const undo = `${script('rules.sh')}${script('undo.sh')}`;
  const quiet = 'ip() { :; }; nft() { return 1; }; iptables() { :; }; ip6tables() { :; }; sleep() { :; }\n';
  const there = (...sets: string[]) => sets.map((set) => `${set}\\n`).join('');
  const kubeRouter = 'KUBE-SRC-ABCDEFGHIJKLM234';

  it('are listed for kube-router, except for a prefix in use', async () => {
    const before = `unpack() { return 1; }; chroot() { printf '${there('KUBE-DST-THEIRS', 'blocked')}'; }\n`;
    const answer = await run(`KUBE_ROUTER_IMAGE=any\n${before}${script('policies.sh')}`);
    expect([answer.exitCode, answer.stderr]).toEqual([0, '']);
    expect(await manifest()).toEqual([
      ...['role sets KUBE-SRC', 'role sets TMP', 'role before sets of addresses looked at'],
    ]);
  });

  it('are removed with the network, and sets of others stay', async () => {
    await put('/etc/matryoshka/made', 'cluster mine\nrole sets KUBE-SRC\nrole sets TMP\n');
    const others = ['KUBE-DST-ABCDEFGHIJKLM234', 'KUBE-CLUSTER-IP', 'TMP-blocked', 'blocked'];
    const listed = there(...others, kubeRouter, `inet6:${kubeRouter}`);
    const ipset = `ipset() { case $1 in list) printf '${listed}' ;; destroy) echo "destroyed $2" ;; esac; }\n`;
    const { exitCode, stdout } = await run(`${quiet}${ipset}${undo}`);
    expect(exitCode).toBe(0);
    // The list is empty although foreign sets remain, so the next reset needs no ipset program.
    expect(await manifest()).toEqual([]);
    expect(stdout.split('\n').filter((line) => line.startsWith('destroyed'))).toEqual([
      `destroyed ${kubeRouter}`,
      `destroyed inet6:${kubeRouter}`,
    ]);
  });

  it('are removed with rules and tools once policies are no longer enforced, and the network stays', async () => {
    const lines = [
      'cluster mine',
      'role sets KUBE-SRC',
      'role before sets of addresses looked at',
      'role chains KUBE',
      'role link cni0',
    ];
    await put('/etc/matryoshka/made', `${lines.join('\n')}\n`);
    await put('/var/lib/matryoshka/network-policies/sbin/ipset');
    const ipset = `ipset() { case $1 in list) printf '${there('blocked', kubeRouter)}' ;; destroy) echo "destroyed $2" ;; esac; }\n`;
    const rules = [
      '-N KUBE-SERVICES',
      '-N KUBE-ROUTER-FORWARD',
      '-N KUBE-POD-FW-AAAA',
      '-A FORWARD -j KUBE-SERVICES',
      '-A FORWARD -m comment --comment "kube-router netpol - TEMC" -j KUBE-ROUTER-FORWARD',
      '-A FORWARD -m comment --comment "KUBE-ROUTER rule to explicitly ACCEPT" -j ACCEPT',
      '-A FORWARD -m comment --comment "of somebody" -j ACCEPT',
    ];
    await put('/rules', `${rules.join('\n')}\n`);
    // Prints each change. A chain that was deleted is listed no longer.
    const iptables = `iptables() {
      [ "$3" != -S ] || { grep -v -f "$R/gone" "$R/rules"; return; }
      { printf '%s|' "\${@:3}"; echo; } >> "$R/asked"; [ "$3" != -X ] || echo "-N $4" >> "$R/gone"
    }
    : > "$R/gone"; ip6tables() { :; }\n`;
    const { exitCode, stdout } = await run(
      `${quiet}${ipset}${iptables}${script('rules.sh')}${script('forget-policies.sh')}`,
    );
    expect(exitCode).toBe(0);
    expect(readFileSync(join(root, 'asked'), 'utf8').trimEnd().split('\n')).toEqual([
      '-F|KUBE-ROUTER-FORWARD|',
      '-F|KUBE-POD-FW-AAAA|',
      '-D|FORWARD|-m|comment|--comment|kube-router netpol - TEMC|-j|KUBE-ROUTER-FORWARD|',
      '-D|FORWARD|-m|comment|--comment|KUBE-ROUTER rule to explicitly ACCEPT|-j|ACCEPT|',
      '-X|KUBE-ROUTER-FORWARD|',
      '-X|KUBE-POD-FW-AAAA|',
    ]);
    expect(stdout.split('\n').filter((line) => line.startsWith('destroyed'))).toEqual([
      `destroyed ${kubeRouter}`,
    ]);
    expect(await manifest()).toEqual(['role chains KUBE', 'role link cni0']);
    expect(has('/var/lib/matryoshka/network-policies')).toBe(false);
  });

  it('block the release if they cannot be removed, and keep the tools for a later reset', async () => {
    await put('/etc/matryoshka/made', 'cluster mine\nrole sets KUBE-SRC\nhost tree /var/lib/matryoshka\n');
    const host = `ROLE=host\n${readFileSync(join(ansible, 'roles/host/files/undo.sh'), 'utf8')}`;
    await put('/var/lib/matryoshka/network-policies/sbin/ipset');
    const ipset = `ipset() { case $1 in list) echo ${kubeRouter} ;; *) echo 'in use' >&2; return 1 ;; esac; }\n`;
    expect(await run(`${quiet}${ipset}${undo}`)).toMatchObject({
      exitCode: 1,
      stderr: 'in use',
    });
    expect((await run(host)).exitCode).toBe(1);
    expect(has('/var/lib/matryoshka/network-policies/sbin/ipset')).toBe(true);
    await run(`${quiet}ipset() { :; }\n${undo}`);
    expect((await run(host)).exitCode).toBe(0);
    expect(has('/var/lib/matryoshka')).toBe(false);
  });
});

it('every script of a role is valid bash', () => {
  const scripts = readdirSync(join(ansible, 'roles'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.sh'),
  );
  expect(scripts.length).toBeGreaterThan(10);
  for (const name of [...scripts.map((file) => join('roles', file)), 'files/prelude.sh']) {
    execFileSync('/bin/bash', ['-n', join(ansible, name)]);
  }
});

it('every path that the precheck takes for foreign is listed before a role creates it', () => {
  const owned = roleScripts()
    .join('\n')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => /\b(own|put|binary|archive) |\bmine\+?=\(/.test(line))
    .join('\n');
  const made = [
    '/etc/kubernetes',
    '/etc/containerd',
    '/var/lib/containerd',
    '/var/lib/kubelet',
    '/var/lib/etcd',
    '/var/lib/cni',
    '/run/containerd',
    '/opt/cni/bin',
    '/etc/cni/net.d',
    '/usr/local/bin/kubelet',
    '/etc/systemd/system/kubelet.service',
    '/etc/systemd/system/containerd.service',
  ];
  expect(made.filter((path) => !owned.includes(path))).toEqual([]);
});

it('the precheck checks each tree that a role creates for a link', () => {
  const trees = new Set(
    roleScripts()
      .join('\n')
      .replaceAll('\\\n', ' ')
      .split('\n')
      .filter((line) => /\bown |\bmine\+?=\(/.test(line))
      .flatMap((line) =>
        [...line.matchAll(/\btree ((?:\/\S+ ?)+)/g)].flatMap(([, paths = '']) => paths.split(' ')),
      )
      .filter(
        (path) =>
          /^\/(var|etc|opt|usr)\//.test(path) && !/\/\./.test(path) && path !== '/var/log/kubernetes/audit',
      ),
  );
  expect(trees.size).toBeGreaterThan(5);
  expect([...trees].filter((path) => !FOLDERS.includes(path))).toEqual([]);
});
