import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostFolder } from './role-script.fixture.ts';

/** Tests what is put back if settings do not work, or if the attempt was cut short. A directory represents a control plane. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');
const LIBRARIES = [
  ...['control-plane/files/member', 'control-plane/files/shared', 'repair/files/seal', 'repair/files/put'],
  ...['repair/files/pods', 'reconfigure/files/former', 'reconfigure/files/components'],
].map((name) => read(`roles/${name}.sh`));

const PODS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const CONFIG = 'var/lib/kubelet/config.yaml';
const POLICY = 'etc/kubernetes/pki/matryoshka/audit-policy.yaml';
const manifest = (pod: string) => `etc/kubernetes/manifests/${pod}.yaml`;
const FILES = [...PODS.map(manifest), CONFIG, POLICY, 'etc/kubernetes/pki/apiserver.crt'];

let root = '';
beforeEach(async () => {
  root = await hostFolder();
  for (const folder of ['manifests', 'pki/etcd', 'pki/matryoshka'])
    await mkdir(join(root, 'etc/kubernetes', folder), { recursive: true });
  await mkdir(join(root, 'var/lib/kubelet'), { recursive: true });
  for (const file of [...FILES, 'etc/kubernetes/admin.conf', 'etc/kubernetes/pki/apiserver.key'])
    await writeFile(join(root, file), 'former');
  for (const name of ['ca', 'front-proxy-ca', 'etcd/ca'])
    for (const end of ['crt', 'key']) await writeFile(join(root, `etc/kubernetes/pki/${name}.${end}`), 'key');
  await appendFile(
    join(root, 'etc/matryoshka/made'),
    'kubelet tree /etc/kubernetes\nkubelet tree /var/lib\n',
  );
});
afterEach(() => rm(root, { recursive: true }));

/**
 * Runs a script. `bad`: the component that does not become ready with new settings, `kubelet` included. `dies`: the pod at
 * whose exchange the attempt is cut short. `upgraded`: whether the manifests are of another version.
 */
async function run(
  script: 'check' | 'control-plane',
  { bad = '', dies = '', upgraded = '', moves = '', tears = '' } = {},
) {
  const text = `${read('files/prelude.sh')}
    ${LIBRARIES.join('\n')}
    mv() { [ -z '${moves}' ] || [[ "$*" != *'${moves}'* ]] || kill -9 $$; command mv "$@"; }
    sync() { :; }; sleep() { :; }; openssl() { cat "\${@: -1}"; }; own() { :; }; has_static_pods() { [ -z '${upgraded}' ]; }; journalctl() { echo 'err="no such field"'; }
    is_bad() { [ "$1" = '${bad}' ] && grep -q new "$2"; }
    systemctl() { case "$*" in *MainPID*) echo 7 ;; *Timestamp*) echo '1970-01-02' ;; restart*) echo "$*" >> "$R/restarts" ;; esac; }
    curl() { case "$*" in *10248*) is_bad kubelet "$R/${CONFIG}" || echo ok ;; *) is_bad kube-apiserver "$R/${manifest('kube-apiserver')}" || echo ok ;; esac; }
    runs() { [ -s "$R/etc/kubernetes/manifests/$1.yaml" ] && ! is_bad "$1" "$R/etc/kubernetes/manifests/$1.yaml"; }
    protected_exchange() {
      echo "$1" >> "$R/restarts"
      if [ "$1" = '${dies}' ]; then rm "$R/etc/kubernetes/manifests/$1.yaml"; kill -9 $$; fi
      mv "$2" "$R/etc/kubernetes/manifests/$1.yaml"
    }
    kubectl() { case "$*" in *'get configmap'*) cat "$R/map" ;; *replace*) cat > "$R/map" ;; *create*) cat "\${6#*=*=}" ;; esac; }
    echo former > "$R/map.first"; [ -e "$R/map" ] || cp "$R/map.first" "$R/map"
    kubeadm() {
      case "$*" in
        *certs*) echo new > "$new/pki/apiserver.crt"; echo new > "$new/pki/apiserver.key" ;;
        *control-plane*) for pod in ${PODS.join(' ')}; do echo new > "$KUBEADM_INIT_DRYRUN_DIR/$pod.yaml"; done ;;
        *upload-config*) echo new > "$R/map" ;;
        *kubelet-config*) if [ -n '${tears}' ]; then : > "$R/${CONFIG}"; return 1; fi; cp "$R/map" "$R/${CONFIG}" ;;
      esac
    }
    ROLE=reconfigure
    ${read(`roles/reconfigure/files/${script}.sh`)}`;
  const env = {
    ...{ MATRYOSHKA_ROOT: root, ETCD_HERE: '', APPLIES: 'yes', NODE_NAME: 'n', IP: '10.0.0.5' },
    ...{ KUBEADM_CONFIG: 'k', KUBE_VERSION: 'v1.35.4', AUDIT_POLICY: 'new', PATCHES: '', MADE_WITH: 'm' },
  };
  const { exitCode, signal, stderr } = await execa('/bin/bash', ['--norc', '-c', text], {
    env,
    reject: false,
  });
  return { exitCode: exitCode ?? signal, stderr };
}
const texts = async () => {
  const all = await Promise.all(
    FILES.map((file) => readFile(join(root, file), 'utf8').catch(() => 'missing')),
  );
  return new Set(all.map((text) => text.trim()));
};
const left = async () =>
  (await readdir(join(root, 'var/lib/matryoshka'))).filter((name) => name.startsWith('reconfigure'));

it('leaves nothing of before once everything works', async () => {
  expect(await run('control-plane')).toEqual({ exitCode: 0, stderr: '' });
  expect(await texts()).toEqual(new Set(['new']));
  expect(await left()).toEqual([]);
});

describe.each([
  ['kube-apiserver', 'kube-apiserver does not become ready: '],
  ['kube-scheduler', 'kube-scheduler does not become ready: '],
  ['kubelet', 'the kubelet does not start: err="no such field"'],
])('if %s does not start', (bad, why) => {
  it('puts everything back, and says so', async () => {
    const { exitCode, stderr } = await run('control-plane', { bad });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`these settings do not work, and the former ones are back on this host: ${why}`);
    expect(await texts()).toEqual(new Set(['former']));
    expect((await readFile(join(root, 'map'), 'utf8')).trim()).toBe('former');
    expect(await left()).toEqual([]);
  });
});

it('puts a configuration of the kubelet back of which kubeadm wrote only half', async () => {
  const { stderr } = await run('control-plane', { tears: 'yes' });
  expect(stderr).toContain(
    'the former ones are back on this host: kubeadm upgrade node phase kubelet-config',
  );
  expect(await texts()).toEqual(new Set(['former']));
});

describe('after an attempt that was cut short', () => {
  it('puts a manifest back that was on its way, and all before it', async () => {
    expect(await run('control-plane', { dies: 'kube-scheduler' })).toMatchObject({ exitCode: 'SIGKILL' });
    expect(await texts()).toEqual(new Set(['new', 'missing', 'former']));
    expect(await run('check')).toEqual({ exitCode: 0, stderr: '' });
    expect(await texts()).toEqual(new Set(['former']));
    expect(await left()).toEqual([]);
  });

  it('restarts the API server for a policy that was written before', async () => {
    await mkdir(join(root, 'etc/kubernetes/pki/matryoshka/patches'));
    expect(await run('control-plane', { moves: 'pki/matryoshka/made-with' })).toMatchObject({
      exitCode: 'SIGKILL',
    });
    expect(await readFile(join(root, POLICY), 'utf8')).toBe('new\n');
    expect(await run('check')).toEqual({ exitCode: 0, stderr: '' });
    expect(await readFile(join(root, POLICY), 'utf8')).toBe('former');
    await rm(join(root, 'restarts'), { force: true });
    expect(await run('control-plane')).toEqual({ exitCode: 0, stderr: '' });
    expect(await readFile(join(root, 'restarts'), 'utf8')).toContain('kube-apiserver');
  });

  it('puts a manifest back that was away when it ended, from the copy of the baseline', async () => {
    const file = manifest('kube-scheduler');
    const sum = createHash('sha256').update('former').digest('hex');
    const owner = `${process.getuid?.()}:${process.getgid?.()}`;
    const line = ['file', `/${file}`, 'f', '600', owner, '6', '1', '1', '1', 'to ', sum].join('\t');
    await writeFile(join(root, 'etc/matryoshka/seal'), `${line}\nend\n`);
    await mkdir(join(root, 'etc/matryoshka/kept'));
    await writeFile(join(root, 'etc/matryoshka/kept', sum), 'former');
    await writeFile(join(root, 'etc/kubernetes/.kube-scheduler.matryoshka'), 'half');
    await rm(join(root, file));
    expect(await run('check')).toEqual({ exitCode: 0, stderr: '' });
    expect(await readFile(join(root, file), 'utf8')).toBe('former');
  });

  it('keeps what another operation has written since', async () => {
    await run('control-plane', { dies: 'kube-scheduler' });
    const file = join(root, manifest('kube-apiserver'));
    await writeFile(file, 'of an upgrade');
    expect(await run('check')).toEqual({ exitCode: 0, stderr: '' });
    expect(await readFile(file, 'utf8')).toBe('of an upgrade');
  });
});

it('refuses a control plane whose upgrade is unfinished', async () => {
  expect(await run('check', { upgraded: 'yes' })).toEqual({
    exitCode: 1,
    stderr: expect.stringContaining('VersionDiffers: this control plane has manifests of another version'),
  });
});
