import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** The join of a control plane, with a script in place of kubeadm. */
const text = readFileSync(
  join(import.meta.dirname, '../../ansible/roles/control-plane/files/join.sh'),
  'utf8',
).replaceAll('/usr/local/sbin/matryoshka-fence', 'fence');
/** The part of the prelude that the script needs. */
const prelude = readFileSync(join(import.meta.dirname, '../../ansible/files/prelude.sh'), 'utf8');
const writing = prelude.slice(prelude.indexOf('unwritten()'), prelude.indexOf('# --- end of writing'));
/** Returns kubeadm's error for its etcd phase; its last line of output is about the stack trace. */
const ended = (why: string): string =>
  `error: error execution phase etcd-join: error creating local etcd static pod manifest file: ${why}`;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'join-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Substitutes for programs of a host: kubeadm, and an API server that is ready at the third probe, or never. */
const PROGRAMS = (isStuck: boolean) => ({
  curl: `echo look >> looks; [ "$(wc -l < looks)" -lt ${isStuck ? 1_000_000 : 3} ] || echo ok`,
  kubeadm: `echo "kubeadm after $(cat looks 2>/dev/null | wc -l) looks" >> calls; ${isStuck ? 'echo no; exit 1' : ''}`,
  sleep: 'exec /bin/sleep 0.01',
  timeout: 'shift; exec /usr/bin/timeout 0.5 "$@"',
});

interface Where {
  /** Whether the host's API server never becomes ready. */
  isStuck?: boolean;
  /** Whether kubeadm has announced a member, and the state of that member. */
  member?: 'announced' | 'slow' | 'none';
}
/** `says`: kubeadm's error at each call; if it is empty, the call succeeds. */
const run = (...says: string[]) => runWhere({}, ...says);
function runWhere({ isStuck = false, member = 'announced' }: Where, ...says: string[]) {
  for (const [name, script] of Object.entries(PROGRAMS(isStuck)))
    writeFileSync(join(root, name), `#!/bin/sh\ncd ${root}; ${script}\n`, { mode: 0o755 });
  mkdirSync(join(root, 'manifests'));
  if (member !== 'none') writeFileSync(join(root, 'manifests/etcd.yaml'), '');
  const stubs = `
    await_joined() { return 1; }; begin_anew() { :; }; prepare_audit_log() { :; }; base64() { :; }; tar() { :; }; mkdir() { :; }
    ${writing}
    fail() { echo "$1" >&2; exit 1; }; changed() { :; }; did() { echo "did $1"; }
    unpack() { :; }; forget_programs() { :; }
    promote() { echo "promoted by $ETCD_ENDPOINTS" >> ${root}/calls; ${member === 'slow' ? "fail 'two did not catch up'" : ':'}; }
    calls=0 says=(${says.map((why) => `'${why}'`).join(' ')})
    fence() {
      grep 'kubeadm join' <<< "$*" >> ${root}/calls
      why=\${says[calls]} calls=$((calls + 1))
      [ -n "$why" ] || { PATH=${root}:$PATH "\${@:3}"; return; }
      for line in $(seq 20); do printf '[%s] kubeadm says what it does by lines as long as this one, and many of them\\n' "$line"; done
      printf '%s\\nTo see the stack trace of this error execute with --v=5 or higher\\n' "$why"; return 1
    }
    state=${root} WAS_REMOVED= PKI=x DISCOVERY=x KUBEADM_CONFIG=x CLUSTER_ID=c NAME=n IP=10.0.0.5 SECRET=s3cret
    work=${root} ETCD_ENDPOINTS= ETCD_IMAGE=etcd FIRST_MEMBER=https://first:2379
    ${text.replaceAll('/etc/matryoshka', root).replaceAll('/etc/kubernetes', root)}`;
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', stubs], { encoding: 'utf8' });
  const calls = readFileSync(join(root, 'calls'), 'utf8').trim().split('\n');
  return { ok: status === 0, did: stdout.trim(), said: stderr, calls };
}

it('joins a control plane with one call of kubeadm', () => {
  expect(run('')).toMatchObject({
    ok: true,
    did: 'did joined',
    calls: [expect.anything(), 'kubeadm after 0 looks'],
  });
  expect(readFileSync(join(root, 'joined'), 'utf8')).toBe('c n 10.0.0.5\n');
});

const UNHEARD = ended('etcdserver: can only promote a learner member');
const UNLISTED = ended('context deadline exceeded');

it.each([
  ['of whose promotion kubeadm has not heard', UNHEARD],
  ['that kubeadm has announced, and did not find at once', UNLISTED],
])('promotes a member %s, then runs the remaining phases of kubeadm', (_, why) => {
  const { ok, did, calls } = run(why, '');
  expect({ ok, did }).toEqual({ ok: true, did: 'did joined' });
  expect(calls[1]).toBe('promoted by https://first:2379');
  expect(calls[2]).toMatch(
    /kubeadm join .* --skip-phases=preflight,control-plane-prepare,check-etcd,kubelet-start,etcd-join &&/,
  );
  // The step asks this host's own API server, which knows the token only when it is ready.
  expect(calls.slice(3)).toEqual(['kubeadm after 3 looks']);
  expect(readFileSync(join(root, 'joined'), 'utf8')).toBe('c n 10.0.0.5\n');
});

it('fails within a bound if the local API server does not become ready', () => {
  const { ok, did, said } = runWhere({ isStuck: true }, UNHEARD, '');
  expect({ ok, did }).toEqual({ ok: false, did: '' });
  expect(said).toContain('the API server of this host does not become ready');
});

it('fails if the member does not catch up, and leaves no token on the host', () => {
  const { ok, did, said } = runWhere({ member: 'slow' }, UNLISTED, '');
  expect({ ok, did }).toEqual({ ok: false, did: '' });
  // Only the last 1,000 characters of a host's output reach the status.
  expect(said.trim().slice(-1_000)).toContain('two did not catch up');
  expect(readdirSync(root).filter((name) => /kubeadm-join|discovery/.test(name))).toEqual([]);
});

it.each<[NonNullable<Where['member']>, string, string]>([
  ['announced', 'etcd-join', 'etcdserver: can only promote a learner member which is in sync with leader'],
  ['none', 'etcd-join', 'context deadline exceeded'],
  ['announced', 'kubelet-wait-bootstrap', 'context deadline exceeded, token abcdef.s3cret'],
])('reports the error of kubeadm and calls it only once: %s, %s', (member, phase, why) => {
  const { ok, did, said, calls } = runWhere({ member }, ended(why).replace('etcd-join', phase));
  expect({ ok, did, calls: calls.length }).toEqual({ ok: false, did: '', calls: 1 });
  expect(said).toContain(why.replace('s3cret', '…'));
});
