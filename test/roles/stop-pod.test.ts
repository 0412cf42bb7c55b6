import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, it } from 'vitest';

/**
 * Tests when the data of a member beside a control plane is deleted, depending on the pod that containerd reports. A
 * directory represents the host.
 */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'stop-pod-'));
  await mkdir(join(root, 'etc/kubernetes/manifests'), { recursive: true });
  await mkdir(join(root, 'var/lib/etcd/member'), { recursive: true });
  await writeFile(join(root, 'etc/kubernetes/manifests/etcd.yaml'), '');
});
afterEach(() => rm(root, { recursive: true }));

/** `seen`: running tasks at each check, `c` the container and `s` the sandbox; the last one repeats. */
async function stop(seen: readonly string[]) {
  const script = `${read('files/prelude.sh')}
    ROLE=etcd
    ${read('roles/etcd/files/etcd.sh')}
    looks=(${seen.map((one) => `'${one}'`).join(' ')})
    ctr() {
      local now at; at=$(cat "$R/looks" 2>/dev/null || echo 0)
      now=\${looks[$at]-\${looks[-1]}}
      case "$*" in
        *'tasks ls') [[ $now != *c* ]] || echo 'member 1 RUNNING'; [[ $now != *s* ]] || echo 'pause 2 RUNNING' ;;
        *'containers ls'*container.name*) echo member ;;
        *'containers ls'*component*) echo pause; echo $((at + 1)) > "$R/looks.new"; mv "$R/looks.new" "$R/looks" ;;
      esac
    }
    sleep() { :; }
    ${read('roles/etcd/files/stop-pod.sh')}`;
  const { exitCode, stderr } = await execa('/bin/bash', ['--norc', '-c', script], {
    env: { MATRYOSHKA_ROOT: root },
    reject: false,
  });
  return { exitCode, stderr };
}
const hasData = () => existsSync(join(root, 'var/lib/etcd/member'));

it('deletes the data and the manifest of etcd once its pod is gone', async () => {
  expect(await stop(['cs', 'cs', 's', ''])).toEqual({ exitCode: 0, stderr: '' });
  expect(hasData()).toBe(false);
  expect(existsSync(join(root, 'etc/kubernetes/manifests/etcd.yaml'))).toBe(false);
});

it('waits while the kubelet starts the removed member once more, then deletes its data', async () => {
  expect(await stop(['s', 'cs', 's', ''])).toEqual({ exitCode: 0, stderr: '' });
  expect(hasData()).toBe(false);
});

it('keeps the data of etcd and fails if its pod stays', async () => {
  expect(await stop(['s'])).toEqual({ exitCode: 1, stderr: 'etcd still runs beside this control plane' });
  expect(hasData()).toBe(true);
});
