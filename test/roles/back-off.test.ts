import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** Restarts of the kubelet for its controller manager and scheduler, depending on the states that containerd reports. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'back-off-'));
  mkdirSync(join(root, 'etc/kubernetes/manifests'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type State = 'runs' | 'ended' | 'none';
interface Where {
  manager: State;
  scheduler: State;
  /** Seconds after which all containers run. */
  startsAfter?: number;
  manifests?: readonly string[];
}

/** Returns how often the kubelet was restarted, and the output. */
function restarts({
  manager,
  scheduler,
  startsAfter = 1_000,
  manifests = ['kube-controller-manager', 'kube-scheduler'],
}: Where) {
  for (const name of manifests) writeFileSync(join(root, `etc/kubernetes/manifests/${name}.yaml`), '');
  const script = `${read('files/prelude.sh')}
    ${read('roles/etcd/files/etcd.sh')}
    passed=0
    sleep() { passed=$((passed + 1)); }
    systemctl() { echo "$*" >> ${root}/restarted; }
    state() { [ "$passed" -lt ${startsAfter} ] || { echo runs; return; }; case $1 in manager) echo ${manager} ;; *) echo ${scheduler} ;; esac; }
    # A pod of a user may be called so.
    ctr() {
      case "$*" in
        *' tasks ls') printf 'TASK PID STATUS\\n'
          for one in manager scheduler; do [ "$(state $one)" != runs ] || echo "of-$one 7 RUNNING"; done ;;
        *'"==kube-controller-manager,'*'"==kube-system') [ "$(state manager)" = none ] || echo of-manager ;;
        *'"==kube-scheduler,'*'"==kube-system') [ "$(state scheduler)" = none ] || echo of-scheduler ;;
        *) echo of-others ;;
      esac
    }
    ${read('roles/control-plane/files/back-off.sh')}
    cat ${root}/restarted 2> /dev/null; true`;
  const { status, stdout } = spawnSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    env: { ...process.env, MATRYOSHKA_ROOT: root },
  });
  expect(status).toBe(0);
  return stdout.trim().split('\n').filter(Boolean);
}

it('restarts the kubelet once if the controller manager or scheduler stays down', () => {
  expect(restarts({ manager: 'runs', scheduler: 'ended' })).toEqual([
    'changed: kubelet.service: restart, so that it does not wait before it starts kube-scheduler',
    'restart kubelet',
  ]);
  expect(restarts({ manager: 'ended', scheduler: 'ended' })[0]).toContain(
    'kube-controller-manager kube-scheduler',
  );
});

it.each<[string, Where]>([
  ['both run', { manager: 'runs', scheduler: 'runs' }],
  ['it is started again within ten seconds', { manager: 'ended', scheduler: 'ended', startsAfter: 10 }],
  ['it was never started', { manager: 'runs', scheduler: 'none' }],
  ['somebody has taken its manifest away', { manager: 'ended', scheduler: 'ended', manifests: [] }],
])('leaves the kubelet alone if %s', (_, where) => {
  expect(restarts(where)).toEqual([]);
});
