import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { APISERVER, MADE, watchedHost } from './watched-host.fixture.ts';

const { at, text, put, bash, run } = watchedHost();

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', 'ansible', path), 'utf8');
const MANIFESTS = '/etc/kubernetes/manifests';
const ETCD = `${MANIFESTS}/etcd.yaml`;
const SCHEDULER = `${MANIFESTS}/kube-scheduler.yaml`;
const PENDING = '/var/lib/matryoshka/repair';
const WHY = `${PENDING}.why`;
const LIBRARIES = [
  'control-plane/files/member.sh',
  'etcd/files/etcd.sh',
  'repair/files/seal.sh',
  'repair/files/etcd-data.sh',
  'repair/files/etcd-start.sh',
  'repair/files/put.sh',
  'repair/files/pods.sh',
];

const ETCD_MANIFEST = `spec:
  containers:
  - command:
    - etcd
    - --data-dir=/var/lib/etcd
    name: etcd
  volumes:
  - hostPath:
      path: /var/lib/etcd
    name: etcd-data
`;
const WAL = '/var/lib/etcd/member/wal/0.wal';

/**
 * A container runtime whose kubelet reacts at once: a pod runs while its manifest exists. `sick` lists members that do not
 * answer.
 */
const CTR = `#!/bin/bash
shift 2
[ ! -e "$MATRYOSHKA_ROOT/no-runtime" ] || exit 1
pods=$(cd "$MATRYOSHKA_ROOT${MANIFESTS}" && ls | sed 's/[.]yaml$//')
case "$1 $2" in
'tasks ls') for pod in $pods; do echo "$pod 1 RUNNING"; done ;;
'containers ls') for pod in $pods; do case "$*" in *"\\"==$pod,"*) echo "$pod" ;; esac; done ;;
'tasks exec')
  case "$*" in
  *'member list'*) cat "$MATRYOSHKA_ROOT/members"; exit "$(cat "$MATRYOSHKA_ROOT/refused" 2>/dev/null || echo 0)" ;;
  *) while read -r sick; do case "$*" in *"//$sick:"*) exit 1 ;; esac; done < "$MATRYOSHKA_ROOT/sick" ;;
  esac ;;
esac
exit 0
`;
/**
 * API servers: this host's while its pod runs, and those listed in `answering`. Peers of etcd list the content of
 * `listed-ADDRESS`.
 */
const CURL = `#!/bin/bash
case "$*" in
*//127.0.0.1:8443/*) [ ! -e "$MATRYOSHKA_ROOT/deaf" ] || exit 7 ;;
*//127.0.0.1:6443/*) [ ! -e "$MATRYOSHKA_ROOT${APISERVER}" ] || echo ok ;;
*--http1.1*//10.0.0.1:2380/members) [ ! -e "$MATRYOSHKA_ROOT/mute" ] && cat "$MATRYOSHKA_ROOT/listed-10.0.0.1" 2>/dev/null || exit 7 ;;
*--http1.1*:2380/members) cat "$MATRYOSHKA_ROOT/listed-$(echo "$*" | sed 's#.*//##; s#:.*##')" 2>/dev/null || exit 7 ;;
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
  await put(ETCD, ETCD_MANIFEST, 0o600);
  await put(SCHEDULER, 's', 0o600);
  await run('end');
  await put(WAL, 'w');
  await put('/var/lib/etcd/member/snap/db', 'd');
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

/** Returns the output of start.sh with these pending restarts, on a control plane with these other hosts. */
async function start(
  noted: readonly string[],
  others = '',
  isMaster = 'yes',
  etcdHere = 'yes',
  peers = etcdHere && others,
  membersFirst = '',
): Promise<string> {
  await put(PENDING, noted.map((line) => `${line}\n`).join(''));
  const library = LIBRARIES.map((path) => read(`roles/${path}`)).join('\n');
  const etcd = `ETCD_HERE='${etcdHere}' ETCD_SERVERS= ETCD_PEERS='${peers}' ETCD_ENDPOINTS= ETCD_IMAGE=none ETCD_ANSWERS_WITHIN=0`;
  const vars = `BALANCER_ADDRESS=127.0.0.1:8443 IP=10.0.0.1 OTHERS='${others}' IS_MASTER='${isMaster}' MEMBERS_FIRST='${membersFirst}' ${etcd}`;
  const body = `${read('files/prelude.sh')}\n${library}\nROLE=repair\n${read('roles/repair/files/start.sh')}`;
  return bash(['-s'], `main() {\n${vars}\n( ${body}\n) || true\n}\nmain 2>&1 </dev/null\n`);
}
/** Returns a member as etcd serves it at /members of the peer port. */
const member = (at: number, more = `"name":"n${at}",`) =>
  `{"id":${at},"peerURLs":["https://10.0.0.${at}:2380"],${more}"clientURLs":["https://10.0.0.${at}:2379"]}`;
const LISTED = `[${member(1)},${member(2)}]\n`;
const TWO = `1, started, n1, https://10.0.0.1:2380, https://10.0.0.1:2379, false
2, started, n2, https://10.0.0.2:2380, https://10.0.0.2:2379, false
`;
const done = async () => (existsSync(at('/done')) ? (await text('/done')).trim().split('\n') : []);

describe('the restarts of a repair', () => {
  it('restart a restored unit, and enable and start a disabled one', async () => {
    await put('/disabled-matryoshka-watch', '');
    await put('/stopped-matryoshka-watch', '');
    await start(['unit kubelet'], '', '');
    expect(await done()).toEqual(['restart kubelet', 'enable matryoshka-watch', 'start matryoshka-watch']);
    expect(await text(PENDING)).toBe('');
  });

  it('restart a static pod with the restored manifest, and set the edited one aside', async () => {
    await put(SCHEDULER, 'theirs', 0o600);
    expect(await start(['pod kube-scheduler'])).toContain('changed: kube-scheduler runs as it was made');
    expect(await done()).toEqual(['protect exchange-kube-scheduler']);
    expect(await text(SCHEDULER)).toBe('s');
    expect(await text(`/var/lib/matryoshka/set-aside${SCHEDULER}`)).toBe('theirs');
    expect(await text(PENDING)).toBe('');
  });

  it('fail if no API server answers through the balancer', async () => {
    await put(MADE, `${await text(MADE)}balancer unit matryoshka-balancer.service\n`);
    expect(await start(['unit matryoshka-balancer'], '', '')).not.toContain('no API server');
    await put('/bin/journalctl', '#!/bin/sh\necho cannot read haproxy.cfg\n', 0o755);
    await put('/deaf', '');
    expect(await start(['unit matryoshka-balancer'], '', '')).toContain(
      'no API server answers through the balancer: cannot read haproxy.cfg',
    );
  });

  it('restart no etcd pod on a control plane with external etcd', async () => {
    await run('begin');
    await rm(at(ETCD));
    await run('end');
    await start(['pod etcd', 'pod kube-apiserver']);
    expect(await done()).toEqual(['protect exchange-kube-apiserver']);
  });
});

describe('a control plane that serves', () => {
  it('keeps its API server running while another does not answer, and retries later', async () => {
    await put('/answering', '10.0.0.2\n');
    await start(['pod kube-apiserver', 'pod kube-scheduler'], '10.0.0.2 10.0.0.3');
    expect(await text(WHY)).toContain(
      'kube-apiserver of this control plane is not restarted: the API server at 10.0.0.3 does not answer',
    );
    expect(await done()).toEqual(['protect exchange-kube-scheduler']);
    expect(await text(PENDING)).toBe('pod kube-apiserver\n');
  });

  it('keeps its etcd member running while another member does not answer', async () => {
    await put('/answering', '10.0.0.2\n');
    await put('/members', TWO);
    await put('/listed-10.0.0.2', LISTED);
    await put('/sick', '10.0.0.2\n');
    await start(['pod etcd'], '10.0.0.2');
    expect(await text(WHY)).toMatch(
      /^etcd of this host is not restarted: members of etcd that stay do not answer: n2 \(10\.0\.0\.2\)/m,
    );
    expect(await done()).toEqual([]);
    await put('/sick', '');
    await start(['pod etcd'], '10.0.0.2');
    expect(await done()).toEqual(['protect exchange-etcd']);
  });

  it('keeps its etcd member running if its state or its peers are unknown', async () => {
    await put('/answering', '10.0.0.2\n');
    await put('/listed-10.0.0.2', LISTED);
    await put('/members', 'Error: context deadline exceeded\n');
    await put('/refused', '1');
    await start(['pod etcd'], '10.0.0.2');
    expect(await text(WHY)).toMatch('its members cannot be listed: Error: context deadline exceeded');
    await put('/no-runtime', '');
    await start(['pod etcd'], '10.0.0.2');
    expect(await text(WHY)).toMatch('containerd does not tell whether it runs');
    expect(await done()).toEqual([]);
    expect(await text(PENDING)).toBe('pod etcd\n');
  });
});

describe('etcd beside a control plane', () => {
  const cutOut = () => rm(at(ETCD));
  beforeEach(() => put('/answering', '10.0.0.2\n10.0.0.3\n'));

  it('starts with the restored manifest if it has data and another member lists it', async () => {
    await cutOut();
    await put('/listed-10.0.0.3', LISTED);
    await start(['pod etcd'], '10.0.0.2 10.0.0.3');
    expect(await done()).toEqual(['protect exchange-etcd']);
    expect(await text(ETCD)).toBe(ETCD_MANIFEST);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'another has taken it out of the cluster',
      () => put('/listed-10.0.0.2', `[${member(2)}]\n`),
      'the member at 10.0.0.2 does not list it; replace this host',
    ],
    [
      'it was added, and never started',
      () => put('/listed-10.0.0.2', `[${member(1, '')},${member(2)}]\n`),
      'the member at 10.0.0.2 does not list it; replace this host',
    ],
    [
      'it is a learner',
      () => put('/listed-10.0.0.2', `[${member(1, '"isLearner":true,"name":"n1",')},${member(2)}]\n`),
      'the member at 10.0.0.2 does not list it; replace this host',
    ],
    ['none of the others answers', async () => {}, 'no member on another host answers'],
  ])('is not started if %s', async (_, given, says) => {
    await cutOut();
    await given();
    await start(['pod etcd'], '10.0.0.2');
    expect(await text(WHY)).toMatch(`etcd of this host is not started: ${says}`);
    expect(await done()).toEqual([]);
    expect(existsSync(at(ETCD))).toBe(false);
  });

  it('is not started by the kubelet if its data is missing', async () => {
    await rm(at(WAL));
    await put('/stopped-kubelet', '');
    await start([]);
    expect(await text(WHY)).toContain('there is no data of etcd in /var/lib/etcd');
    expect(await done()).toEqual([]);
  });

  it('is restored as the only member, though it does not answer', async () => {
    await put(ETCD, `${ETCD_MANIFEST}# x`, 0o600);
    await put('/refused', '1');
    await start(['pod etcd']);
    expect(await text(ETCD)).toBe(ETCD_MANIFEST);
  });

  it('is not started if etcd is external by now', async () => {
    await cutOut();
    await start(['pod etcd'], '10.0.0.2', 'yes', '');
    expect(await done()).toEqual([]);
    expect(existsSync(at(ETCD))).toBe(false);
  });
});

describe('an external etcd member', () => {
  const NOTED = 'unit matryoshka-etcd';
  const begin = (noted: readonly string[] = [NOTED], membersFirst = '') =>
    start(noted, '', '', '', '10.0.0.2', membersFirst);
  beforeEach(async () => {
    await run('begin');
    await rm(at('/etc/kubernetes'), { recursive: true });
    await put(MADE, `${await text(MADE)}etcd unit matryoshka-etcd.service\n`);
    await put(
      '/var/lib/matryoshka/etcd/usr/local/bin/etcdctl',
      CTR.replace('shift 2\n', 'set -- tasks exec "$@"\n'),
      0o755,
    );
    await run('end');
    await put('/members', TWO);
    for (const one of [1, 2]) await put(`/listed-10.0.0.${one}`, LISTED);
  });

  it('restarts with restored files while every other member is healthy', async () => {
    await begin();
    expect(await done()).toEqual(['restart matryoshka-etcd']);
    expect(await text(PENDING)).toBe('');
  });

  it('keeps running while another member does not answer, which is reported and retried', async () => {
    await put('/sick', '10.0.0.2\n');
    await begin();
    expect(await done()).toEqual([]);
    expect(await text(WHY)).toMatch(
      /^etcd of this host is not restarted: members of etcd that stay do not answer: n2 \(10\.0\.0\.2\)/m,
    );
    expect(await text(PENDING)).toBe(`${NOTED}\n`);
  });

  it('restarts first; a balancer waits for a later step', async () => {
    await put(MADE, `${await text(MADE)}balancer unit matryoshka-balancer.service\n`);
    await put('/deaf', '');
    await begin([NOTED, 'unit matryoshka-balancer'], 'yes');
    expect(await done()).toEqual(['restart matryoshka-etcd']);
    expect(await text(PENDING)).toBe('unit matryoshka-balancer\n');
    await put('/bin/journalctl', '#!/bin/sh\n', 0o755);
    expect(await begin([NOTED, 'unit matryoshka-balancer'])).toContain('no API server answers');
    expect((await done()).slice(1)).toEqual(['restart matryoshka-etcd', 'restart matryoshka-balancer']);
  });

  it('restarts if it runs and does not answer', async () => {
    await put('/sick', '10.0.0.1\n10.0.0.2\n');
    await put(
      '/bin/sleep',
      `#!/bin/sh\n[ ! -e "$MATRYOSHKA_ROOT/done" ] || rm -f "$MATRYOSHKA_ROOT/mute"\n`,
      0o755,
    );
    await put('/mute', '');
    await begin([]);
    expect(await done()).toEqual(['restart matryoshka-etcd']);
  });

  it('is left alone if none of its files was restored', async () => {
    await put('/sick', '10.0.0.2\n');
    await begin([]);
    expect(await done()).toEqual([]);
    expect(existsSync(at(WHY))).toBe(false);
  });

  it('starts if it is stopped and another member lists it, though members are unhealthy', async () => {
    await put('/stopped-matryoshka-etcd', '');
    await put('/sick', '10.0.0.1\n10.0.0.2\n');
    await begin([]);
    expect(await done()).toEqual(['restart matryoshka-etcd']);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['nobody answers', () => rm(at('/listed-10.0.0.2')), 'no member on another host answers'],
    [
      'it was taken out',
      () => put('/listed-10.0.0.2', `[${member(2)}]\n`),
      'at 10.0.0.2 does not list it; replace',
    ],
  ])('stays stopped if %s', async (_, given, says) => {
    await put('/stopped-matryoshka-etcd', '');
    await given();
    await begin([]);
    expect(await done()).toEqual([]);
    expect(await text(WHY)).toContain(says);
    expect(await text(PENDING)).toBe('start matryoshka-etcd\n');
  });

  it('is not restarted without its data; other units of the host are', async () => {
    await rm(at(WAL));
    await begin();
    expect(await text(WHY)).toContain('there is no data of etcd in /var/lib/etcd; replace the host');
    expect(await done()).toEqual([]);
    await begin([NOTED, 'unit containerd']);
    expect(await done()).toEqual(['restart containerd']);
  });

  it('is reported if it does not answer, and the run goes on', async () => {
    await put('/stopped-matryoshka-etcd', '');
    await rm(at('/listed-10.0.0.1'));
    await put('/bin/journalctl', '#!/bin/sh\necho disk full\n', 0o755);
    expect(await begin([])).toBe('');
    expect(await text(WHY)).toMatch(/^the member of etcd on this host does not answer: disk full/);
  });

  it('is not restarted if a user started it meanwhile', async () => {
    await put('/sick', '10.0.0.2\n');
    await begin(['start matryoshka-etcd']);
    expect(await done()).toEqual([]);
    expect(await text(PENDING)).toBe('');
    expect(existsSync(at(WHY))).toBe(false);
  });
});
