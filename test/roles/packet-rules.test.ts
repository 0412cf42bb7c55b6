import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { read } from './small-host.fixture.ts';

/** Packet rules that a reset removes, on a directory that represents a host. */
const [prelude, rules, undone] = await Promise.all(
  ['files/prelude.sh', 'roles/network/files/rules.sh', 'roles/network/files/undo.sh'].map(read),
);
const undo = `${rules}${undone}`;
let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'packet-rules-'));
  await mkdir(join(root, 'var/lib/matryoshka'), { recursive: true });
});
afterEach(() => rm(root, { recursive: true }));
async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
const run = (script: string) =>
  execa('/bin/bash', ['--norc', '-s'], {
    input: `main() {\n${prelude}\nROLE=role\n${script}\n}\nmain </dev/null\n`,
    env: { MATRYOSHKA_ROOT: root },
    reject: false,
  });

it('a reset removes rules of kube-router from shared chains, and keeps other rules', async () => {
  await put('/etc/matryoshka/made', 'cluster mine\nrole chains KUBE\n');
  const rules = [
    '-N KUBE-ROUTER-FORWARD',
    '-A FORWARD -m comment --comment "kube-router netpol - ABC" -j KUBE-ROUTER-FORWARD',
    '-A FORWARD -m comment --comment "KUBE-ROUTER rule to explicitly ACCEPT" -m mark --mark 0x20000/0x20000 -j ACCEPT',
    '-A FORWARD -s 192.0.2.9/32 -m comment --comment "not KUBE-ROUTER" -j DROP',
  ];
  const iptables = `iptables() { case "$*" in '-t filter -S') [ -e "$R/gone" ] || cat <<'R'
${rules.join('\n')}
R
;; *-D*) echo "deleted $*" ;; *-X*) : > "$R/gone" ;; esac; }\n`;
  const quiet = 'ip() { :; }; nft() { return 1; }; ip6tables() { :; }\n';
  const { exitCode, stdout } = await run(`${quiet}${iptables}${undo}`);
  expect(exitCode).toBe(0);
  expect(stdout.split('\n').filter((line) => line.startsWith('deleted'))).toEqual([
    expect.stringContaining('-j KUBE-ROUTER-FORWARD'),
    expect.stringContaining('explicitly ACCEPT'),
  ]);
});

it('a reset removes an empty base chain that it added to a shared table', async () => {
  await put(
    '/etc/matryoshka/made',
    'cluster mine\nrole shared ip nat PREROUTING\nrole shared ip nat INPUT\nrole shared ip filter\n',
  );
  const listed = (chain: string, rule: string) =>
    `table ip nat {\n\tchain ${chain} {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n${rule}\t}\n}`;
  const nft = `nft() { case "$*" in
'list chain ip nat PREROUTING') cat <<'T'\n${listed('PREROUTING', '')}\nT\n;;
'list chain ip nat INPUT') cat <<'T'\n${listed('INPUT', '\t\tip saddr 192.0.2.9 accept\n')}\nT\n;;
delete*) echo "$*" ;; *) return 1 ;; esac; }\n`;
  const { exitCode, stdout } = await run(`ip() { :; }\n${nft}${undo}`);
  expect([exitCode, stdout]).toEqual([0, 'delete chain ip nat PREROUTING']);
});

describe('packet rules on a host without iptables', () => {
  // Only these functions exist as tools.
  const only = (...names: string[]) =>
    `command() { case " ${names.join(' ')} " in *" $2 "*) return 0 ;; esac; return 1; }; ip() { :; }\n`;

  it('are removed by nft, and other rules stay', async () => {
    await put('/etc/matryoshka/made', 'cluster mine\nrole chains KUBE\n');
    const table = `table ip filter {
 chain KUBE-FORWARD { # handle 3
  accept # handle 4
 }
 chain FORWARD { # handle 1
  counter packets 0 bytes 0 jump KUBE-FORWARD # handle 5
  ip saddr 192.0.2.9 drop comment "not KUBE-ROUTER" # handle 6
  accept comment "KUBE-ROUTER rule to explicitly ACCEPT" # handle 7
 }
}`;
    const nft = `nft() { case "$*" in '-a list table ip filter') cat <<'T'\n${table}\nT\n;; '-f '*) cat "$2" >> "$R/done" ;; *) return 1 ;; esac; }\n`;
    expect(await run(`${only('nft')}${nft}${undo}`)).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await readFile(join(root, 'done'), 'utf8')).trim().split('\n')).toEqual([
      'flush chain ip filter KUBE-FORWARD',
      'delete rule ip filter FORWARD handle 5',
      'delete rule ip filter FORWARD handle 7',
      'delete chain ip filter KUBE-FORWARD',
    ]);
  });

  it.each([
    [
      'nothing can look at them',
      only(),
      '',
      /chains \(KUBE\)-… of iptables are left is unknown: install iptables or nftables/,
    ],
    ['they may be of the legacy one', only('nft'), 'nat\n', /tables of iptables-legacy \(nat\) is unknown/],
    ['nft refuses', only('nft'), '', /packet rules of ours are left in table ip filter/],
  ])('are reported as left if %s, and the reset fails', async (_what, tools, legacy, message) => {
    await put('/etc/matryoshka/made', 'cluster mine\nrole chains KUBE\n');
    await put('/proc/net/ip_tables_names', legacy);
    const nft = `nft() { case "$*" in '-a list table ip filter') printf ' chain KUBE-A {\\n' ;; '-f '*) [ -s "$R/proc/net/ip_tables_names" ] ;; *) return 1 ;; esac; }\n`;
    expect(await run(`${tools}${nft}${undo}`)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(message),
    });
  });
});
