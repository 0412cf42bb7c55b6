import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** A control plane whose join was interrupted, with a list in place of etcd's members. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');
const [own, other] = ['10.0.0.2', '10.0.0.1'];

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'let-go-'));
  mkdirSync(join(root, 'var/lib/etcd/member'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Etcd {
  /** Member list with a line for each, `ADDRESS ID NAME LEARNER`; undefined if etcd does not answer. */
  members?: readonly string[];
  sick?: readonly string[];
  endpoints?: string;
  leaving?: string;
  /** Address of the leader. */
  leader?: string;
}

/** Runs a script with etcd's functions. Returns whether it succeeded, its output, and the members afterwards. */
function run(
  text: string,
  { members, sick = [], endpoints = `https://${other}:2379`, leaving = '', leader = '' }: Etcd,
) {
  const list = join(root, 'members');
  if (members) writeFileSync(list, members.map((line) => `${line}\n`).join(''));
  const stubs = `
    sleep() { :; }; systemctl() { :; }; unpack() { :; }; bring_programs() { :; }; forget_programs() { :; }
    members() { cat ${list}; }
    answers() { case ' ${sick.join(' ')} ' in *" $1 "*) return 1 ;; esac; }
    lives() { answers "$1"; }
    etcd() {
      case "$*" in
        'member remove '*) grep -v " $3 " ${list} > ${list}.new; mv ${list}.new ${list} ;;
        '--endpoints https://${leader}:2379 endpoint status '*) printf '"MemberID" : 7\n"Leader" : 7\n' ;;
        *' endpoint status '*) printf '"MemberID" : 8\n"Leader" : 7\n' ;;
        *' move-leader '*) echo "$*" >> ${list}.moved ;;
        'member promote '*) echo asked >> ${list}.promoted; echo 'not in sync with leader'; return 1 ;;
      esac
    }`;
  const script = `${read('files/prelude.sh')}
    ${read('roles/etcd/files/etcd.sh')}
    ${read('roles/etcd/files/let-go.sh')}
    ${read('roles/etcd/files/components.sh')}
    ${read('roles/etcd/files/join.sh')}
    ${stubs}
    IP=${own} ETCD_ENDPOINTS=${endpoints} ETCD_IMAGE=etcd JOINING_ETCD= ETCD_ANSWERS_WITHIN=0
    LEAVING='${leaving}' JOINING= BEGINNING= ONLY_DEAD= STAYING= COMPONENTS_WITHIN=2
    ${text}`;
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    env: { ...process.env, MATRYOSHKA_ROOT: root },
  });
  const left = members ? readFileSync(list, 'utf8') : '';
  const moved = existsSync(`${list}.moved`) ? readFileSync(`${list}.moved`, 'utf8').trim() : '';
  return { ok: status === 0, stdout, said: stderr, left: left.split('\n').filter(Boolean), moved };
}

/** Removes this host's member before its data is deleted. */
const leave = (etcd: Etcd) => {
  const { ok, said, left } = run('leave_etcd', etcd);
  return { goesOn: ok, said, left };
};

const first = `${other} a1 one false`;

it.each([
  ['a member that votes', [first, `${own} b2 two false`]],
  ['a learner', [first, `${own} b2 two true`]],
  ['one that was never started', [first, `${own} b2 - true`]],
  ['no member any more', [first]],
])('leaves etcd without a change to other members, as %s', (_, members) => {
  expect(leave({ members })).toMatchObject({ goesOn: true, left: [first] });
});

it.each<[string, Etcd, string]>([
  ['nobody answers', {}, 'its data is left'],
  ['nobody is known to be asked', { members: [first], endpoints: '' }, 'no other member is known'],
  [
    'one that would stay does not answer',
    { members: [first, `${own} b2 two false`], sick: [other] },
    'do not answer: one (10.0.0.1)',
  ],
  ['nobody would stay', { members: [`${own} b2 two false`] }, 'no member of etcd would be left'],
])('keeps the data of etcd if %s', (_, etcd, reason) => {
  const { goesOn, said, left } = leave(etcd);
  expect([goesOn, left]).toEqual([false, etcd.members ?? []]);
  expect(said).toContain(reason);
});

it('does not contact etcd if the host has no data of etcd', () => {
  rmSync(join(root, 'var/lib/etcd/member'), { recursive: true });
  expect(leave({})).toMatchObject({ goesOn: true, said: '' });
});

const third = '10.0.0.3 c3 three false';
const mine = `${own} b2 two false`;
const check = () => read('roles/etcd/files/check.sh');
const remove = () => read('roles/etcd/files/remove-members.sh');

it('releases a host that is no member, though a member does not answer', () => {
  const etcd = { members: [first, third], sick: [other], leaving: own };
  expect(run(check(), etcd)).toMatchObject({ ok: true });
  expect(run(remove(), etcd)).toMatchObject({
    ok: true,
    stdout: `result: let_go=${own}\n`,
    left: [first, third],
  });
});

it('removes no member while a remaining one does not answer', () => {
  const etcd = { members: [first, mine, third], sick: [other], leaving: own };
  expect(run(check(), etcd).ok).toBe(false);
  expect(run(remove(), etcd)).toMatchObject({ ok: false, stdout: '', left: [first, mine, third] });
});

it('removes leaving members, dead ones too, and reports them', () => {
  const etcd = { members: [first, mine, third], sick: ['10.0.0.3'], leaving: `${own} 10.0.0.3` };
  const { ok, stdout, left } = run(remove(), etcd);
  expect([ok, left]).toEqual([true, [first]]);
  expect(stdout.trim().split('\n')).toEqual([
    'changed: three left etcd',
    'changed: two left etcd',
    `result: let_go=${own} 10.0.0.3`,
  ]);
});

it('moves leadership from a leaving leader to a remaining member', () => {
  const members = [first, mine, third];
  const leader = run(remove(), { members, leaving: own, leader: own });
  expect(leader).toMatchObject({ ok: true, left: [first, third] });
  expect(leader.moved).toBe(`--endpoints https://${own}:2379 move-leader a1`);
});

it('moves no leadership if the leader stays', () => {
  const leader = run(remove(), { members: [first, mine, third], leaving: own, leader: other });
  expect(leader).toMatchObject({ ok: true, left: [first, third], moved: '' });
});

it.each<[string, Etcd, string, string]>([
  [
    'while one of them does not answer',
    { members: [first, third], sick: ['10.0.0.3'] },
    '10.0.0.2',
    'members of etcd that stay do not answer: three (10.0.0.3); of 2 that would be left 1 are healthy, 2 are needed',
  ],
  [
    'while another is a learner',
    { members: [first, '10.0.0.3 c3 three true'] },
    '10.0.0.2',
    'etcd has a learner, three (10.0.0.3), that is not promoted yet',
  ],
])('admits no member %s', (_, etcd, joining, reason) => {
  const { ok, said } = run(`JOINING='${joining}'\n${check()}`, etcd);
  expect(ok).toBe(false);
  expect(said).toContain(reason);
});

it('accepts the learner that an interrupted join left', () => {
  expect(run(`JOINING='10.0.0.3'\n${check()}`, { members: [first, '10.0.0.3 c3 three true'] }).ok).toBe(true);
});

it('removes the learner of a control plane that joins from the start', () => {
  const members = [first, '10.0.0.3 c3 - true', '10.0.0.4 d4 four false'];
  const { ok, left } = run(`JOINING='10.0.0.3 10.0.0.4' BEGINNING='10.0.0.3 10.0.0.4'\n${check()}`, {
    members,
  });
  expect([ok, left]).toEqual([true, [first, '10.0.0.4 d4 four false']]);
});

it('removes a learner that does not catch up in time, however slow the attempts', () => {
  const slow = 'sleep() { SECONDS=$((SECONDS + 60)); }';
  const { ok, said, left } = run(`NAME=two LEARNER_SECONDS=300\n${slow}\npromote`, {
    members: [first, `${own} b2 two true`],
  });
  expect([ok, left]).toEqual([false, [first]]);
  expect(said).toContain('two did not catch up with etcd within 300 s and was taken out again: not in sync');
  expect(readFileSync(join(root, 'members.promoted'), 'utf8').split('\n').filter(Boolean)).toHaveLength(5);
});

it.each([
  ['after a while', 2, [first], 'was taken out again'],
  ['not in time', 1_000, [first, `${own} b2 two true`], 'cannot be taken out again'],
])('reports whether it could remove the learner: %s', (_, failures, stay, says) => {
  const slow = `sleep() { SECONDS=$((SECONDS + 20)); }
    eval "of_all()$(declare -f etcd | tail -n +2)"; failed=0
    etcd() { case "$*" in 'member remove '*) [ "$((failed++))" -ge ${failures} ] || return 1 ;; esac; of_all "$@"; }`;
  const { ok, said, left } = run(`NAME=two LEARNER_SECONDS=300\n${slow}\npromote`, {
    members: [first, `${own} b2 two true`],
  });
  expect([ok, left]).toEqual([false, stay]);
  expect(said).toContain(`two did not catch up with etcd within 300 s and ${says}: not in sync`);
});

/** Sets up control planes `one` and `three` with a scheduler in the given state; `two` leaves. */
const changes = (schedulerOf: string, ready: string, more = '') => {
  mkdirSync(join(root, 'etc/kubernetes'), { recursive: true });
  writeFileSync(join(root, 'etc/kubernetes/admin.conf'), 'x');
  const nodes = `one ${other}\ntwo ${own}\nthree 10.0.0.3`;
  const pods = ['one', 'two', 'three'].flatMap((node) =>
    ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler']
      .map((kind) => `${kind}-${node} ${kind === 'kube-scheduler' && node === schedulerOf ? ready : 'True'}`)
      .filter((line) => !line.endsWith('absent')),
  );
  const kubectl = `kubectl() { case "$*" in *nodes*) printf '${nodes}\\n' ;; *) printf '${pods.join('\\n')}${more}\\n' ;; esac; }`;
  return run(`STAYING='${other} 10.0.0.3'\n${kubectl}\n${check()}`, {
    members: [first, mine, third],
    leaving: own,
  });
};

it.each([
  ['all that stays is well', 'one', 'True', ''],
  ['only what leaves is not', 'two', 'False', ''],
  ['a node is gone whose pods are listed', 'one', 'True', '\\nkube-scheduler-four False'],
])('changes control planes if %s', (_, node, ready, more) => {
  expect(changes(node, ready, more)).toMatchObject({ ok: true, said: '' });
});

it.each([
  ['is not ready', 'False'],
  ['is not there', 'absent'],
])('changes no control plane while a remaining scheduler %s', (_, ready) => {
  const { ok, said } = changes('three', ready);
  expect(ok).toBe(false);
  expect(said).toContain('do not run or are not ready: kube-scheduler-three');
});
