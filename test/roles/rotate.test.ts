import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostFolder } from './role-script.fixture.ts';

/** The order in which control planes accept, use and forget keys. Each directory represents a control plane. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');
const LIBRARIES = [
  ...['control-plane/files/member', 'control-plane/files/shared', 'repair/files/seal', 'repair/files/put'],
  ...['repair/files/pods', 'reconfigure/files/former', 'reconfigure/files/components', 'rotate/files/keys'],
].map((name) => read(`roles/${name}.sh`));
const PODS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
/** Returns the file of a cluster with one key. */
const encryption = (name: string, secret: string) => `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - secretbox:
          keys:
            - name: ${name}
              secret: ${secret}
`;
const pem = (key: string) => `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----\n`;

/** Directories of two control planes; the first one makes keys. */
let hosts: [string, string];
beforeEach(async () => {
  hosts = [await hostFolder(), await hostFolder()];
  for (const root of hosts) {
    for (const folder of ['manifests', 'pki/matryoshka'])
      await mkdir(join(root, 'etc/kubernetes', folder), { recursive: true });
    for (const pod of PODS) await writeFile(join(root, `etc/kubernetes/manifests/${pod}.yaml`), 'pod');
    await writeFile(join(root, 'etc/kubernetes/pki/sa.key'), 'one\n');
    await writeFile(join(root, 'etc/kubernetes/pki/sa.pub'), pem('one'));
    await writeFile(
      join(root, 'etc/kubernetes/pki/matryoshka/encryption.yaml'),
      encryption('key1', 'c2VjcmV0'),
    );
    await appendFile(join(root, 'etc/matryoshka/made'), 'kubelet tree /etc/kubernetes\n');
  }
});
afterEach(() => Promise.all(hosts.map((root) => rm(root, { recursive: true }))));

interface Way {
  /** The key that kubeadm would make. */
  key?: string;
  /** The component at whose restart the attempt is cut short. */
  dies?: string;
  /** Names of the keys by which Secrets in etcd are encrypted. */
  etcd?: string;
  /** Answer of kubectl to the Secrets that are written. */
  kubectl?: string;
  keys?: string;
  /** Addresses of API servers. */
  servers?: string;
  /** Answer of the kubelet's healthz; '': the kubelet does not run. */
  healthz?: string;
}

const SERVERS = '10.0.0.5 10.0.0.6';
/** Runs a script on a control plane, and returns what it said. */
async function run(
  root: string,
  script: string,
  { key = 'two', dies = '', etcd = '', kubectl = '', keys = '', servers = SERVERS, healthz = 'ok' }: Way = {},
) {
  const text = `${read('files/prelude.sh')}
    ${LIBRARIES.join('\n')}
    sync() { :; }; sleep() { :; }; bring_programs() { :; }; forget_programs() { :; }
    systemctl() { [ "$1" != is-active ] || return '${healthz ? 0 : 3}'; echo "$*" >> "$R/restarts"; }; journalctl() { echo 'unknown flag: --x'; }
    curl() { echo '${healthz}'; }; runs() { [ -s "$R/etc/kubernetes/manifests/$1.yaml" ]; }
    protected_exchange() {
      [ "$1" != '${dies}' ] || kill -9 $$
      echo "$1" >> "$R/restarts"; mv "$2" "$R/etc/kubernetes/manifests/$1.yaml"
    }
    key_name() { echo key7; }
    openssl() { printf -- '-----BEGIN PUBLIC KEY-----\\n%s\\n-----END PUBLIC KEY-----\\n' "$(cat "$3")"; }
    kubectl() { case "$*" in *endpointslices*) echo '${servers}' ;; *replace*) cat > /dev/null; [ -z '${kubectl}' ] || { echo '${kubectl}' >&2; return 1; } ;; esac; }
    etcd() { for name in ${etcd}; do echo "k8s:enc:secretbox:v1:$name:x"; done; }
    kubeadm() {
      local folder; folder=$(cat "$state/rotate.yaml")
      echo ${key} > "$folder/sa.key"; printf '%s' '${pem(key)}' > "$folder/sa.pub"
    }
    ROLE=rotate
    ${read(`roles/rotate/files/${script}.sh`)}`;
  const env = {
    ...{ MATRYOSHKA_ROOT: root, NODE_NAME: 'n', IP: '10.0.0.5', SEQUENCE: '7', ETCD_IMAGE: 'i' },
    ...{ KUBEADM_CONFIG: 'CERTIFICATES_DIR', KEYS: keys, CONTROL_PLANES: SERVERS },
  };
  return execa('/bin/bash', ['--norc', '-c', text], { env, reject: false });
}
const passes = async (...args: Parameters<typeof run>) => {
  const { exitCode, stderr, stdout } = await run(...args);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return Object.fromEntries(
    [...stdout.matchAll(/^result: (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
};
/** Makes keys on the first control plane, and stores them on the second. */
async function made(key?: string) {
  const { keys } = await passes(hosts[0], 'make', key === undefined ? {} : { key });
  await passes(hosts[1], 'store', { keys: keys ?? '' });
}

const pki = (root: string, name: string) => readFile(join(root, 'etc/kubernetes/pki', name), 'utf8');
/** Returns the keys of a control plane: the one that signs, those that are accepted, and those of encryption. */
async function keysOf(root: string) {
  const accepted = [...(await pki(root, 'sa.pub')).matchAll(/KEY-----\n(\w+)\n/g)].map(([, key]) => key);
  const encryption = [...(await pki(root, 'matryoshka/encryption.yaml')).matchAll(/name: (\w+)/g)];
  const [signs] = (await pki(root, 'sa.key')).split('\n');
  return [signs, accepted.join(' '), encryption.map(([, name]) => name).join(' ')];
}
const restarts = (root: string) =>
  readFile(join(root, 'restarts'), 'utf8').then(
    (text) => text.trim().split('\n'),
    () => [],
  );

describe('a rotation', () => {
  it('lets all accept the new keys before one uses them, and keeps the former signing key', async () => {
    await made();
    for (const root of hosts) expect(await keysOf(root)).toEqual(['one', 'one', 'key1']);
    for (const root of hosts) await passes(root, 'accept');
    for (const root of hosts) expect(await keysOf(root)).toEqual(['one', 'one two', 'key1 key7']);
    for (const root of hosts) await passes(root, 'use');
    for (const root of hosts) expect(await keysOf(root)).toEqual(['two', 'two one', 'key7 key1']);
    await passes(hosts[0], 'encrypt', { etcd: 'key7' });
    for (const root of hosts) await passes(root, 'forget');
    for (const root of hosts) {
      expect(await keysOf(root)).toEqual(['two', 'two one', 'key7']);
      expect(existsSync(join(root, 'etc/kubernetes/pki/matryoshka/next'))).toBe(false);
      expect(await restarts(root)).toEqual([
        ...['kube-apiserver', 'kube-apiserver', 'kube-controller-manager'],
      ]);
    }
  });

  it('no longer accepts the key from before the former one', async () => {
    await writeFile(join(hosts[0], 'etc/kubernetes/pki/sa.pub'), pem('one') + pem('zero'));
    await made();
    await passes(hosts[0], 'accept');
    expect(await keysOf(hosts[0])).toEqual(['one', 'one two', 'key1 key7']);
  });

  it('changes nothing that a second run finds done, and restarts nothing', async () => {
    await made();
    for (const script of ['accept', 'use', 'accept', 'use', 'encrypt', 'accept', 'use'])
      await passes(hosts[0], script, { etcd: 'key7' });
    expect(await keysOf(hosts[0])).toEqual(['two', 'two one', 'key7 key1']);
    expect(await restarts(hosts[0])).toHaveLength(3);
  });

  it.each([
    ['accept', 'kube-apiserver', ['kube-apiserver', 'kube-apiserver', 'kube-controller-manager']],
    ['use', 'kube-apiserver', ['kube-apiserver', 'kube-apiserver', 'kube-controller-manager']],
    [
      'use',
      'kube-controller-manager',
      ['kube-apiserver', 'kube-apiserver', 'kube-apiserver', 'kube-controller-manager'],
    ],
  ])('goes on with the same keys if cut short in %s, and restarts %s', async (stage, dies, all) => {
    await made();
    if (stage === 'use') await passes(hosts[0], 'accept');
    expect((await run(hosts[0], stage, { dies })).exitCode).not.toBe(0);
    // kubeadm would make another key now.
    expect((await passes(hosts[0], 'find'))['next']).toBe('yes');
    await made('three');
    for (const script of ['accept', 'use']) await passes(hosts[0], script);
    expect(await keysOf(hosts[0])).toEqual(['two', 'two one', 'key7 key1']);
    expect(await restarts(hosts[0])).toEqual(all);
  });

  it('completes a signing key of which one file was written', async () => {
    await made();
    await passes(hosts[0], 'accept');
    await writeFile(join(hosts[0], 'etc/kubernetes/pki/sa.key'), 'two\n');
    await passes(hosts[0], 'use');
    expect(await keysOf(hosts[0])).toEqual(['two', 'two one', 'key7 key1']);
  });

  it('keeps the former key of encryption while etcd has a Secret by it, or a Secret cannot be written', async () => {
    await made();
    for (const script of ['accept', 'use']) await passes(hosts[0], script);
    const left = await run(hosts[0], 'encrypt', { etcd: 'key7 key1 key1' });
    expect(left.stderr).toContain('2 Secrets in etcd are not encrypted by the new key yet;');
    const refusal = 'admission webhook "x" denied the request';
    const refused = await run(hosts[0], 'encrypt', { kubectl: refusal, etcd: 'key1' });
    expect(refused.stderr).toContain(`1 Secrets in etcd are not encrypted by the new key yet: ${refusal};`);
    // A warning of a webhook is no refusal, and what a member has is decisive.
    for (const said of ['Warning: no owner', refusal])
      await passes(hosts[0], 'encrypt', { kubectl: said, etcd: 'key7' });
  });

  it('begins anew if half of the new keys are gone', async () => {
    await made();
    await rm(join(hosts[0], 'etc/kubernetes/pki/matryoshka/next/sa.key'));
    expect((await passes(hosts[0], 'find'))['next']).toBeUndefined();
    for (const stage of ['accept', 'use']) {
      const { exitCode, stderr } = await run(hosts[0], stage);
      expect([exitCode, stderr]).toEqual([
        1,
        'the new keys are not on this host; ask for the rotation again',
      ]);
    }
    await made('three');
    for (const script of ['accept', 'use']) await passes(hosts[0], script);
    expect(await keysOf(hosts[0])).toEqual(['three', 'three one', 'key7 key1']);
  });
});

it('restarts a kubelet that runs, and waits until it serves', async () => {
  await passes(hosts[0], 'kubelet');
  expect(await restarts(hosts[0])).toEqual(['restart kubelet']);
  const { exitCode, stderr } = await run(hosts[0], 'kubelet', { healthz: 'starting' });
  expect([exitCode, stderr]).toEqual([1, 'the kubelet does not start: unknown flag: --x']);
  await passes(hosts[1], 'kubelet', { healthz: '' });
  expect(await restarts(hosts[1])).toEqual([]);
});

it('says that it has ended here, in case its report was lost', async () => {
  await made();
  for (const script of ['accept', 'use', 'forget']) await passes(hosts[0], script);
  const found = await passes(hosts[0], 'find');
  expect([found['ended'], found['next']]).toEqual(['yes', undefined]);
});

describe('keys that a rotation would lose', () => {
  it.each<[string, string, (root: string) => Promise<void>, Way]>([
    [
      'a second provider',
      'encryption.yaml was changed',
      (root) =>
        appendFile(join(root, 'etc/kubernetes/pki/matryoshka/encryption.yaml'), '      - identity: {}\n'),
      {},
    ],
    [
      'a signing key that is not the first',
      'the first key in /etc/kubernetes/pki/sa.pub is not that of sa.key',
      (root) => writeFile(join(root, 'etc/kubernetes/pki/sa.pub'), pem('zero') + pem('one')),
      {},
    ],
    [
      'an API server of no control plane',
      'an API server at 10.0.0.9 is not one of the control planes 10.0.0.5 10.0.0.6',
      async () => {},
      { servers: '10.0.0.5 10.0.0.9' },
    ],
  ])('are refused before any is made: %s', async (_what, says, change, way) => {
    await change(hosts[0]);
    const { exitCode, stderr } = await run(hosts[0], 'find', way);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(says);
  });
});
