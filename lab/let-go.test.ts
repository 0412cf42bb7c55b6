import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** A control plane whose join was cut short, among members of an etcd that a list stands for. */
const ansible = join(import.meta.dirname, '..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');
const [own, other] = ['10.0.0.2', '10.0.0.1'];

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'let-go-'));
  mkdirSync(join(root, 'var/lib/etcd/member'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Etcd {
  /** A line each, `ADDRESS ID NAME LEARNER`; undefined: nobody answers. */
  members?: readonly string[];
  sick?: readonly string[];
  endpoints?: string;
}

/** Takes this host out; answers whether it may go on, what it said, and who is a member afterwards. */
function leave({ members, sick = [], endpoints = `https://${other}:2379` }: Etcd) {
  const list = join(root, 'members');
  if (members) writeFileSync(list, members.map((line) => `${line}\n`).join(''));
  const stubs = `
    sleep() { :; }; systemctl() { :; }; unpack() { :; }; forget_programs() { :; }
    members() { cat ${list}; }
    answers() { case ' ${sick.join(' ')} ' in *" $1 "*) return 1 ;; esac; }
    etcd() { case "$*" in 'member remove '*) grep -v " $3 " ${list} > ${list}.new; mv ${list}.new ${list} ;; esac; }`;
  const script = `${read('files/prelude.sh')}
    ${read('roles/etcd/files/etcd.sh')}
    ${read('roles/etcd/files/let-go.sh')}
    ${stubs}
    IP=${own} ETCD_ENDPOINTS=${endpoints} ETCD_IMAGE=etcd JOINING_ETCD= ETCD_ANSWERS_WITHIN=0
    leave_etcd && echo goes on`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], {
    encoding: 'utf8',
    env: { ...process.env, MATRYOSHKA_ROOT: root },
  });
  const left = members ? execFileSync('cat', [list], { encoding: 'utf8' }) : '';
  return { goesOn: stdout.includes('goes on'), said: stderr, left: left.split('\n').filter(Boolean) };
}

const first = `${other} a1 one false`;

it.each([
  ['a member that votes', [first, `${own} b2 two false`]],
  ['a learner', [first, `${own} b2 two true`]],
  ['one that was never started', [first, `${own} b2 - true`]],
  ['no member any more', [first]],
])('leaves the others alone as %s', (_, members) => {
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
])('keeps its data where %s', (_, etcd, reason) => {
  const { goesOn, said, left } = leave(etcd);
  expect([goesOn, left]).toEqual([false, etcd.members ?? []]);
  expect(said).toContain(reason);
});

it('asks nobody where nothing of etcd is on the host', () => {
  rmSync(join(root, 'var/lib/etcd/member'), { recursive: true });
  expect(leave({})).toMatchObject({ goesOn: true, said: '' });
});
