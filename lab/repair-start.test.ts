import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { APISERVER, watchedHost } from './watched-host.fixture.ts';

const { at, text, put, bash, run } = watchedHost();

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', 'ansible', path), 'utf8');
const MANIFESTS = '/etc/kubernetes/manifests';
const ETCD = `${MANIFESTS}/etcd.yaml`;
const SCHEDULER = `${MANIFESTS}/kube-scheduler.yaml`;
const PENDING = '/var/lib/matryoshka/repair';
const WHY = `${PENDING}.why`;
const LIBRARIES = ['control-plane/files/member.sh', 'etcd/files/etcd.sh', 'repair/files/seal.sh'];

/** A runtime whose kubelet obeys at once: a pod runs while its manifest is there. `sick` lists members that do not answer. */
const CTR = `#!/bin/bash
shift 2
pods=$(cd "$MATRYOSHKA_ROOT${MANIFESTS}" && ls | sed 's/[.]yaml$//')
case "$1 $2" in
'tasks ls') for pod in $pods; do echo "$pod 1 RUNNING"; done ;;
'containers ls') for pod in $pods; do case "$*" in *"\\"==$pod,"*) echo "$pod" ;; esac; done ;;
'tasks exec')
  case "$*" in
  *'member list'*) cat "$MATRYOSHKA_ROOT/members" ;;
  *) while read -r sick; do case "$*" in *"//$sick:"*) exit 1 ;; esac; done < "$MATRYOSHKA_ROOT/sick" ;;
  esac ;;
esac
exit 0
`;
/** API servers: this host's while its pod runs, and those of `answering`. */
const CURL = `#!/bin/bash
case "$*" in
*//127.0.0.1:6443/*) [ ! -e "$MATRYOSHKA_ROOT${APISERVER}" ] || echo ok ;;
*) while read -r one; do case "$*" in *"//$one:6443/"*) echo ok ;; esac; done < "$MATRYOSHKA_ROOT/answering" ;;
esac
`;
const SYSTEMCTL = `#!/bin/bash
case $1 in
is-enabled) [ ! -e "$MATRYOSHKA_ROOT/disabled-$3" ] ;;
is-active) [ ! -e "$MATRYOSHKA_ROOT/stopped-$3" ] ;;
enable) echo "enable $3" >> "$MATRYOSHKA_ROOT/done" ;;
start | restart) echo "$1 $2" >> "$MATRYOSHKA_ROOT/done" ;;
show) cat "$MATRYOSHKA_ROOT/units" ;;
esac
`;

beforeEach(async () => {
  await run('begin');
  await put(ETCD, 'e', 0o600);
  await put(SCHEDULER, 's', 0o600);
  await run('end');
  await put('/bin/ctr', CTR, 0o755);
  await put('/bin/curl', CURL, 0o755);
  await put('/bin/systemctl', SYSTEMCTL, 0o755);
  await put('/bin/sleep', '#!/bin/sh\n', 0o755);
  await put(
    '/usr/local/sbin/matryoshka-fence',
    '#!/bin/bash\necho "$1 $2" >> "$MATRYOSHKA_ROOT/done"\nshift 2\nexec "$@"\n',
    0o755,
  );
  await put('/members', '1, started, n1, https://10.0.0.1:2380, https://10.0.0.1:2379, false\n');
  await put('/sick', '');
  await put('/answering', '');
});

/** What start.sh says where these lines are noted, on a control plane beside these others. */
async function start(noted: readonly string[], others = '', isMaster = 'yes'): Promise<string> {
  await put(PENDING, noted.map((line) => `${line}\n`).join(''));
  const library = LIBRARIES.map((path) => read(`roles/${path}`)).join('\n');
  const vars = `IP=10.0.0.1 OTHERS='${others}' IS_MASTER='${isMaster}' ETCD_ENDPOINTS= ETCD_IMAGE=none`;
  const body = `${read('files/prelude.sh')}\n${library}\nROLE=repair\n${read('roles/repair/files/start.sh')}`;
  return bash(['-s'], `main() {\n${vars}\n( ${body}\n) || true\n}\nmain 2>&1 </dev/null\n`);
}
const done = async () => (existsSync(at('/done')) ? (await text('/done')).trim().split('\n') : []);

describe('what was put back', () => {
  it('is run by: units begin anew, others are enabled and started', async () => {
    await put('/disabled-matryoshka-watch', '');
    await put('/stopped-matryoshka-watch', '');
    await start(['unit kubelet'], '', '');
    expect(await done()).toEqual(['restart kubelet', 'enable matryoshka-watch', 'start matryoshka-watch']);
    expect(await text(PENDING)).toBe('');
  });

  it('is run by: a static pod ends and begins by the manifest as it was made', async () => {
    await put(SCHEDULER, 'theirs', 0o600);
    expect(await start(['pod kube-scheduler'])).toContain('changed: kube-scheduler runs as it was made');
    expect(await done()).toEqual(['protect repair-kube-scheduler']);
    expect(await text(SCHEDULER)).toBe('s');
    expect(await text(PENDING)).toBe('');
  });

  it('is run by no member here, where the authority of an etcd on hosts of its own was put back', async () => {
    await run('begin');
    await rm(at(ETCD));
    await run('end');
    await start(['pod etcd', 'pod kube-apiserver']);
    expect(await done()).toEqual(['protect repair-kube-apiserver']);
  });
});

describe('a control plane that serves is not taken away', () => {
  const TWO = `1, started, n1, https://10.0.0.1:2380, https://10.0.0.1:2379, false
2, started, n2, https://10.0.0.2:2380, https://10.0.0.2:2379, false
`;
  it('where the API server of another does not answer; what is left is noted for the next try', async () => {
    await put('/answering', '10.0.0.2\n');
    await start(['pod kube-apiserver', 'pod kube-scheduler'], '10.0.0.2 10.0.0.3');
    expect(await text(WHY)).toContain(
      'kube-apiserver of this control plane is not restarted: the API server at 10.0.0.3 does not answer',
    );
    expect(await done()).toEqual(['protect repair-kube-scheduler']);
    expect(await text(PENDING)).toBe('pod kube-apiserver\n');
  });

  it('with its member of etcd, where another member does not answer', async () => {
    await put('/answering', '10.0.0.2\n');
    await put('/members', TWO);
    await put('/sick', '10.0.0.2\n');
    await start(['pod etcd'], '10.0.0.2');
    expect(await text(WHY)).toMatch(
      /^etcd of this control plane is not restarted: members of etcd that stay do not answer: n2 \(10\.0\.0\.2\)/m,
    );
    expect(await done()).toEqual([]);
    await put('/sick', '');
    await start(['pod etcd'], '10.0.0.2');
    expect(await done()).toEqual(['protect repair-etcd']);
  });
});
