import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostFolder } from './role-script.fixture.ts';

/** A control plane changes to another version, and back if that does not start. A directory represents the host. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');
const LIBRARIES = [
  'upgrade/files/programs',
  'upgrade/files/applied',
  'upgrade/files/former',
  'upgrade/files/switch',
  'control-plane/files/member',
  'repair/files/pods',
].map((name) => read(`roles/${name}.sh`));
const [FROM, TO] = ['v1.34.4', 'v1.35.4'];
const PODS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const MANIFESTS = 'etc/kubernetes/manifests';
const WORK = 'var/lib/matryoshka';

let root: string;
const at = (path: string) => join(root, path);
const text = (path: string) => readFileSync(at(path), 'utf8');
async function put(path: string, content: string): Promise<void> {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), content);
}
beforeEach(async () => {
  root = await hostFolder();
  for (const pod of PODS) await put(`${MANIFESTS}/${pod}.yaml`, `image: x:${FROM}\n`);
  for (const name of ['kubeadm', 'kubectl', 'kubelet']) {
    await put(`usr/local/bin/${name}`, FROM);
    await put(`${WORK}/upgrade/${FROM}/${name}`, FROM);
    await put(`${WORK}/upgrade/${TO}/${name}`, TO);
    await put(`etc/matryoshka/installed/${name}`, `sum-of-${FROM}\n`);
  }
  await put('var/lib/kubelet/config.yaml', `of ${FROM}\n`);
  await put('var/lib/kubelet/kubeadm-flags.env', `of ${FROM}\n`);
});
afterEach(() => rm(root, { recursive: true }));

interface Host {
  /** The version of the API server that starts with the new manifests; none starts if it is undefined. */
  starts?: string;
  /** Shell code of functions that replace others. */
  stubs?: string;
}

/** The kubelet runs pods by their manifests as long as it runs itself. The calls are in the file `calls`. */
async function run(script: string, { starts = TO, stubs = '' }: Host = {}) {
  const common = `
    sleep() { :; }; sync() { :; }; journalctl() { :; }; check_etcd() { :; };
    systemctl() { echo "$*" >> "$R/calls"; }
    kubelet() { echo "Kubernetes $(cat "$R/usr/local/bin/kubelet")"; }
    runs_kubelet() { [ "$(cat "$R/usr/local/bin/kubelet")" = "$1" ]; }
    running_of() { :; }
    curl() {
      case "$*" in
        */version) sed -n 's/.*:\\(.*\\)/"\\1"/p' "$R/${MANIFESTS}/kube-apiserver.yaml" | grep -e '${FROM}' -e '${starts}' ;;
        *) [ -e "$R/${MANIFESTS}/kube-apiserver.yaml" ] && echo ok ;;
      esac
    }
    kubectl() {
      case "$*" in
        *'get configmap'*) echo 'kubernetesVersion: ${FROM}' ;;
        *'get pod kube-apiserver'*) echo x:${TO} ;;
        *'get pods'*) printf 'True x:${TO}\\n%.0s' 1 2 3 ;;
        *'get node'*) printf '${TO} True' ;;
      esac
    }
    kubeadm() {
      echo "kubeadm $*" >> "$R/calls"
      case "$*" in
        *'init phase control-plane'*) for pod in ${PODS.slice(1).join(' ')}; do echo 'image: x:${TO}' > "$KUBEADM_INIT_DRYRUN_DIR/$pod.yaml"; done ;;
        *'init phase etcd'*) echo 'image: x:${TO}' > "$KUBEADM_INIT_DRYRUN_DIR/etcd.yaml" ;;
        *post-upgrade*) echo 'of ${TO}' > "$R/var/lib/kubelet/kubeadm-flags.env" ;;
      esac
    }
    export R; export -f kubeadm running_of systemctl sync sleep`;
  const vars = `FROM=${FROM} KUBE_VERSION=${TO} NODE_NAME=n IP=10.0.0.1 OTHERS='b c' APPLIES= ETCD_HERE=yes INIT_CONFIG=i UPGRADE_CONFIG=u KUBECTL_PATH= IS_MASTER=yes KUBELET_SHA256=sum-of-${TO} KUBEADM_SHA256=sum-of-${TO} KUBECTL_SHA256=sum-of-${TO}`;
  const fence = '#!/bin/bash\nshift 2; exec bash -c \'"$@"\' bash "$@"\n';
  await put('usr/local/sbin/matryoshka-fence', fence);
  await execa('chmod', ['755', at('usr/local/sbin/matryoshka-fence')]);
  const body = `${vars}\n${read('files/prelude.sh')}\n${LIBRARIES.join('\n')}\n${common}\n${stubs}\nROLE=upgrade\n${read(`roles/upgrade/files/${script}.sh`)}`;
  return execa('/bin/bash', ['--norc', '-c', body], { env: { MATRYOSHKA_ROOT: root }, reject: false });
}
const has = (version: string) => ({
  manifests: PODS.map(() => `image: x:${version}\n`),
  kubelet: version,
  mark: `sum-of-${version}\n`,
});
const host = () => ({
  manifests: PODS.map((pod) => text(`${MANIFESTS}/${pod}.yaml`)),
  kubelet: text('usr/local/bin/kubelet'),
  mark: existsSync(at('etc/matryoshka/installed/kubelet'))
    ? text('etc/matryoshka/installed/kubelet')
    : undefined,
});
const left = async () => (await readdir(at('etc/kubernetes'))).filter((name) => name.startsWith('.'));

it('changes manifests and kubelet together, between the phases of kubeadm', async () => {
  const { exitCode, stderr } = await run('control-plane');
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(host()).toEqual(has(TO));
  expect(await left()).toEqual([]);
  const calls = text('calls')
    .split('\n')
    .map((line) => line.replaceAll(/ (--config \S+|phase )/g, ' ').trim());
  expect(calls.filter((line) => !line.startsWith('show'))).toEqual([
    'kubeadm init control-plane all --dry-run',
    'kubeadm init etcd local --dry-run',
    'kubeadm certs renew all',
    'kubeadm upgrade node kubelet-config',
    'kubeadm upgrade node post-upgrade',
    'stop kubelet',
    'start kubelet',
    'kubeadm upgrade node --skip-phases=control-plane',
    '',
  ]);
});

it('puts the former version back if the API server does not start, and the next attempt checks etcd', async () => {
  const { exitCode, stderr } = await run('control-plane', { starts: 'none' });
  expect(exitCode).toBe(1);
  expect(stderr).toContain(
    `kube-apiserver does not become ready with ${TO}, and ${FROM} is back on this host`,
  );
  expect({ ...host(), mark: undefined }).toEqual({ ...has(FROM), mark: undefined });
  expect(text('var/lib/kubelet/kubeadm-flags.env')).toBe(`of ${FROM}\n`);
  expect(await left()).toEqual([]);
  expect(existsSync(at(`${WORK}/upgrade/${FROM}/begun`))).toBe(false);
  // A later attempt begins with the files of now.
  expect(existsSync(at(`${WORK}/upgrade/${FROM}/changing`))).toBe(false);
});

it('puts nothing back on a control plane that an earlier attempt has finished', async () => {
  expect((await run('control-plane')).exitCode).toBe(0);
  const { exitCode, stderr } = await run('control-plane', { stubs: 'serves() { return 1; }' });
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringContaining('see the pods of kube-system on this host'),
  ]);
  expect(host()).toEqual(has(TO));
});

it('puts a kubelet back whose change was cut short before it was noted', async () => {
  await run('control-plane', {
    stubs: 'eval "true_$(declare -f mark)"; mark() { [ "$1" != kubelet ] || exit 1; true_mark "$@"; }',
  });
  expect(host()).toEqual({ ...has(TO), mark: undefined });
  const vars = `KUBE_VERSION=${FROM} KUBELET_SHA256=sum-of-${FROM} KUBEADM_SHA256=sum-of-${FROM}`;
  expect(await run('put-back', { stubs: vars })).toMatchObject({ exitCode: 0 });
  expect(host()).toEqual(has(FROM));
});
