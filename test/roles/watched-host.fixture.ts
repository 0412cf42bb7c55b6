import { chmod, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect } from 'vitest';
import { z } from 'zod';

/** A directory that represents a joined host with a drift agent; systemd and the API server are scripts. */

const watch = join(import.meta.dirname, '../..', 'ansible/files/watch');
const UNITS = ['containerd.service', 'kubelet.service', 'matryoshka-watch.service'];
export const CONFIG = '/etc/containerd/config.toml';
export const KUBELET = '/usr/local/bin/kubelet';
export const APISERVER = '/etc/kubernetes/manifests/kube-apiserver.yaml';
export const SEAL = '/etc/matryoshka/seal';
export const CA_KEY = '/etc/kubernetes/pki/ca.key';
export const ENCRYPTION = '/etc/kubernetes/pki/matryoshka/encryption.yaml';
export const MADE = '/etc/matryoshka/made';
export const unitFile = (unit: string) => `/etc/systemd/system/${unit}`;
const FILES: Readonly<Record<string, string>> = {
  [CONFIG]: 'version = 3\n',
  [KUBELET]: 'k'.repeat(2 * 1024 * 1024),
  '/etc/sysctl.d/99-matryoshka.conf':
    'net.ipv4.ip_forward = 1\n-net.bridge.bridge-nf-call-iptables = 1\n-net.bridge.none = 1\n',
  '/opt/cni/bin/bridge': 'b',
  '/etc/containerd/certs.d/ghcr.io:5000/hosts.toml': 'h',
  ...Object.fromEntries(UNITS.map((unit) => [unitFile(unit), unit])),
};

const Patch = z.object({
  metadata: z.object({ annotations: z.object({ 'ecs.yun.com/drift': z.string() }) }),
});
const Drift = z.object({
  at: z.iso.datetime(),
  count: z.int(),
  things: z.array(z.tuple([z.string(), z.string(), z.string()])),
  certificate: z.tuple([z.string(), z.string()]).optional(),
});

const ROLES: Readonly<Record<string, string>> = {
  [CONFIG]: 'runtime',
  [KUBELET]: 'kubelet',
  '/opt/cni/bin/bridge': 'network',
};

/** Creates a new host for each test of the calling file. */
export function watchedHost() {
  let root = '';
  const at = (path: string) => join(root, path);
  const text = (path: string) => readFile(at(path), 'utf8');

  async function put(path: string, content: string, mode = 0o644): Promise<void> {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), content);
    await chmod(at(path), mode);
  }

  /** Writes systemd's output, with other properties of one unit. */
  async function units(unit = '', other: Readonly<Record<string, string>> = {}): Promise<void> {
    const blocks = UNITS.map((name) => {
      const usual = {
        UnitFileState: 'enabled',
        ActiveState: 'active',
        FragmentPath: unitFile(name),
        DropInPaths: '',
      };
      const all = { Id: name, ...usual, ...(name === unit ? other : {}) };
      return Object.entries(all).map(([key, value]) => `${key}=${value}\n`);
    });
    await put('/units', blocks.map((lines) => lines.join('')).join('\n'));
  }

  /** Runs bash as on that host and returns its output. */
  async function bash(args: readonly string[], input?: string): Promise<string> {
    const { stdout, stderr } = await execa('/bin/bash', ['--norc', ...args], {
      ...(input === undefined ? {} : { input }),
      env: {
        MATRYOSHKA_ROOT: root,
        PATH: `${at('/bin')}:${process.env['PATH']}`,
        NODE_NAME: 'n1',
        MATRYOSHKA_WATCH_PAUSE: '0',
        MATRYOSHKA_WATCH_MEMBERS: '0',
      },
    });
    expect(stderr).toBe('');
    return stdout;
  }
  const run = (verb: string) => bash([watch, verb]);

  async function reported() {
    const { metadata } = Patch.parse(JSON.parse(await text('/sent')));
    return Drift.parse(JSON.parse(metadata.annotations['ecs.yun.com/drift']));
  }
  /** Runs a check and returns the host's report, one line for each difference. */
  async function check(): Promise<string[]> {
    await run('look');
    return (await reported()).things.map((parts) => parts.join(' '));
  }

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'drift-'));
    const listed = [...Object.keys(FILES), '/etc/cni/net.d/10-flannel.conflist', '/run/xtables.lock'];
    const lines = [
      ...listed.map((path) => `${ROLES[path] ?? 'role'} file ${path}`),
      ...UNITS.map((unit) => `role unit ${unit}`),
      'host line /etc/hosts',
      'host unit matryoshka-endpoint.service',
    ];
    await put(MADE, `cluster mine\n${lines.join('\n')}\n`);
    for (const [path, content] of Object.entries(FILES)) await put(path, content);
    await put('/etc/matryoshka/joined', 'mine');
    await put('/etc/hosts', '127.0.0.1 localhost\n10.0.0.1 api.demo # matryoshka mine\n');
    await put(APISERVER, 'a', 0o600);
    await put('/etc/kubernetes/pki/ca.crt', 'ca');
    await put('/etc/kubernetes/pki/apiserver.key', 'key', 0o600);
    await put(CA_KEY, 'key of the authority', 0o600);
    await put('/etc/kubernetes/admin.conf', 'client-key-data: x\n', 0o600);
    await put(ENCRYPTION, '  secret: x\n', 0o600);
    await put('/etc/kubernetes/kubelet.conf', '    server: https://api.demo:6443\n', 0o600);
    await put('/var/lib/kubelet/config.yaml', 'kubelet');
    await put('/proc/sys/net/ipv4/ip_forward', '1\n');
    await put('/proc/sys/net/bridge/bridge-nf-call-iptables', '1\n');
    await put('/proc/swaps', 'Filename\n');
    await put('/usr/local/sbin/matryoshka-fence', '', 0o755);
    await put('/bin/systemctl', '#!/bin/sh\n[ "$1" != show ] || cat "$MATRYOSHKA_ROOT/units"\n', 0o755);
    await put(
      '/bin/curl',
      '#!/bin/sh\ncat > "$MATRYOSHKA_ROOT/sent"\necho "$@" >> "$MATRYOSHKA_ROOT/calls"\ncat "$MATRYOSHKA_ROOT/answer"\n',
      0o755,
    );
    await put('/answer', '200');
    await units();
    await run('end');
  });
  afterEach(() => rm(root, { recursive: true }));

  const touch = (path: string) => utimes(at(path), 1, 1);
  const calls = async () => (await text('/calls')).trim().split('\n');
  return { at, text, put, units, bash, run, reported, check: check, touch, calls };
}
