import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { XMLParser } from 'fast-xml-parser';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keyPair } from '#base/testing/key-pair.ts';
import { checks } from '#precheck/index.ts';
import { lacksSshd, realSshd } from '#ssh/testing/real-sshd.ts';
import type { SshHost } from '#ssh/testing/ssh-host.ts';
import { goodHost } from './testing/good-ssh-host.fixture.ts';

const lacks = await lacksSshd();
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'precheck-'));
  await writeFile(join(folder, 'key'), keyPair().private, { mode: 0o600 });
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs the program as a user does. */
async function run(inventory: string, ...more: string[]) {
  const path = join(folder, 'hosts.yaml');
  await writeFile(path, inventory);
  const main = join(import.meta.dirname, '../main.ts');
  return execa(process.execPath, [main, 'precheck', '--inventory', path, ...more], { reject: false });
}

const inventoryOf = (host: SshHost, more = ''): string =>
  `sshKeyFile: key\nmasterList: [{ip: 127.0.0.1, port: ${host.target('root').port}}]\n${more}`;

describe('matryoshka precheck', () => {
  it('exits with 0 without problems, and prints the host key of the first connection', async () => {
    await using host = await goodHost();
    const { exitCode, stdout, stderr } = await run(inventoryOf(host));
    expect(stderr).toBe('');
    expect(stdout).toContain('1 host checked: 0 errors, 0 warnings.');
    expect(stdout).toMatch(/taken at first sight.*\n\[127\.0\.0\.1\]:\d+ ssh-/);
    expect(exitCode).toBe(0);
  });

  it('reads a key with Windows line ends, and refuses a file without a key', async () => {
    await using host = await goodHost();
    await writeFile(join(folder, 'key'), keyPair().private.replaceAll('\n', '\r\n'));
    expect(await run(inventoryOf(host))).toMatchObject({ exitCode: 0, stderr: '' });
    await writeFile(join(folder, 'key'), 'SECRETTEXT');
    const { exitCode, stderr } = await run(inventoryOf(host));
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('sshKeyFile: key is no private SSH key')]);
    expect(stderr).not.toContain('SECRETTEXT');
  });

  it('uses known_hosts without printing keys, and reports a changed host key', async () => {
    await using host = await goodHost();
    const { stdout } = await run(inventoryOf(host), '-o', 'json');
    const { hostKeysTaken } = JSON.parse(stdout);
    await writeFile(join(folder, 'known_hosts'), `${hostKeysTaken[0]}\n`);
    const pinned = await run(inventoryOf(host, 'knownHostsFile: known_hosts\n'), '-o', 'json');
    expect(JSON.parse(pinned.stdout)).toMatchObject({ ok: true, hostKeysTaken: [] });
    await using other = await goodHost();
    const line = hostKeysTaken[0].replace(/:\d+ /, `:${other.target('root').port} `);
    await writeFile(join(folder, 'known_hosts'), `${line}\n`);
    const changed = await run(inventoryOf(other), '--known-hosts', join(folder, 'known_hosts'));
    expect([changed.exitCode, changed.stdout.includes('HostKeyChanged')]).toEqual([1, true]);
  });

  it('exits with 1 on errors, with a table without control characters of the host', async () => {
    await using host = await goodHost('@cpus 1', '@link /var/lib/etcd /data\u001b[2J');
    const { exitCode, stdout } = await run(inventoryOf(host));
    expect(exitCode).toBe(1);
    expect(stdout).toContain('1 host checked: 2 errors, 0 warnings.');
    expect(stdout).toMatch(/cpu .*error .*has 1 CPU; at least 2 are needed/);
    expect(stdout).not.toContain('\u001b');
  });

  it('prints JSON', async () => {
    await using host = await goodHost('@swapKiB 8');
    const { exitCode, stdout } = await run(inventoryOf(host), '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      hosts: [
        {
          ip: '127.0.0.1',
          name: 'host-127-0-0-1',
          role: 'control-plane',
          ok: false,
          problems: [{ check: 'swap', severity: 'error', message: expect.stringContaining('swapoff -a') }],
        },
      ],
    });
    expect(exitCode).toBe(1);
  });

  it('prints JUnit: a suite for each host, a case for each check', async () => {
    await using host = await goodHost('@swapKiB 8', '@missing openssl');
    const away = 'nodeList: [{ip: 127.0.0.2, port: 1, name: gone}]\n';
    const { exitCode, stdout } = await run(inventoryOf(host, away), '-o', 'junit');
    expect(exitCode).toBe(1);
    const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '' });
    const { testsuites } = parser.parse(stdout);
    expect(testsuites).toMatchObject({ tests: String(checks.length + 1), failures: '2' });
    const [good, gone] = testsuites.testsuite;
    expect(good.testcase).toHaveLength(checks.length);
    const named = (name: string) => good.testcase.find((one: { name: string }) => one.name === name);
    expect(named('swap').failure.message).toContain('swap is on');
    expect(named('programs')['system-out']).toContain('openssl is not installed');
    expect(named('cpu')).toEqual({ name: 'cpu', classname: 'precheck.127.0.0.1' });
    expect(gone.testcase).toMatchObject({
      name: 'Unreachable',
      failure: { message: expect.stringContaining('127.0.0.2:1') },
    });
  });

  it('reveals neither reclaim nor the id of another cluster', async () => {
    await using host = await goodHost('@owner {"clusterId":"secret-id"}');
    const { stdout } = await run(inventoryOf(host), '-o', 'json');
    expect(stdout).toContain('belongs to another cluster');
    expect(stdout).not.toMatch(/secret-id|reclaim/);
  });

  it.skipIf(lacks)('checks a host with a real sshd', async () => {
    await using sshd = await realSshd({ config: 'UsePAM no' });
    await writeFile(join(folder, 'key'), String(sshd.target.privateKey), { mode: 0o600 });
    const inventory = `sshKeyFile: key\nnodeList: [{ip: 127.0.0.1, port: ${sshd.target.port}}]\n`;
    const { exitCode, stdout } = await run(inventory, '-o', 'json');
    const { ok, hosts } = JSON.parse(stdout);
    expect(hosts).toHaveLength(1);
    expect(hosts[0].problems.map(({ check }: { check: string }) => check)).not.toContain('AnswerIncomplete');
    expect(exitCode).toBe(ok ? 0 : 1);
  });
});

describe('hosts.yaml', () => {
  const hosts = 'masterList: [{ip: 10.0.0.1}]\n';

  it.each<[string, string, RegExp]>([
    ['a broken line', 'masterList: [{ip: 10.0.0.1\n', /hosts\.yaml: is no YAML: .*line/],
    [
      'an address that is none',
      'sshKeyFile: key\nmasterList: [{ip: 10.0.0.300}]',
      /masterList\[0\]\.ip: "10\.0\.0\.300" is not an IP address/,
    ],
    [
      'a field of another name',
      `${hosts}workerList: []`,
      /workerList: is no field here; there are masterList, nodeList, etcdList/,
    ],
    [
      'a field of a host of another name',
      'nodeList: [{ip: 10.0.0.1, address: x}]',
      /nodeList\[0\]\.address: is no field here; there are ip, /,
    ],
    ['a key in it', `${hosts}sshKey: |\n  SECRETTEXT`, /sshKey: is no field here/],
    ['a port that is none', 'nodeList: [{ip: 10.0.0.1, port: 99999}]', /nodeList\[0\]\.port: 99999 /],
    [
      'a network that is none',
      `${hosts}podCIDR: 10.244.0.1/16`,
      /podCIDR: "10\.244\.0\.1\/16" is not a CIDR/,
    ],
    ['no host', 'sshKeyFile: key', /names no host; list them in masterList/],
    [
      'a host twice',
      'sshKeyFile: key\nnodeList: [{ip: 10.0.0.1}, {ip: 10.0.0.1}]',
      /nodeList\[1\]\.ip: 10\.0\.0\.1 is in this list already/,
    ],
    ['no key', hosts, /sshKeyFile: is missing/],
    ['a key that is not there', `${hosts}sshKeyFile: none`, /sshKeyFile: .*none cannot be read \(ENOENT/],
    [
      'a limit of another name',
      `${hosts}sshKeyFile: key\nprecheckLimits: {cpu: 1}`,
      /precheckLimits: .*cpu/s,
    ],
  ])('is refused with %s, by field and value, with exit code 2', async (_what, text, message) => {
    const { exitCode, stdout, stderr } = await run(text);
    expect(stderr).toMatch(message);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).not.toContain('SECRETTEXT');
  });

  it('is refused if it is missing, or combined with a cluster name', async () => {
    const main = join(import.meta.dirname, '../main.ts');
    const asked = (...args: string[]) =>
      execa(process.execPath, [main, 'precheck', ...args], { reject: false });
    const missing = await asked('--inventory', join(folder, 'none.yaml'));
    expect([missing.exitCode, missing.stderr]).toEqual([
      2,
      expect.stringMatching(/none\.yaml cannot be read \(ENOENT/),
    ]);
    for (const args of [[], ['--inventory', 'a', '--from-cluster', 'b']])
      expect(await asked(...args)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('not by both'),
      });
    expect(await asked('--inventry')).toMatchObject({ exitCode: 2 });
    const help = await asked('--help');
    expect([help.exitCode, help.stdout.includes('precheck --inventory hosts.yaml')]).toEqual([0, true]);
  });
});
