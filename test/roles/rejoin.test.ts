import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostFolder } from './role-script.fixture.ts';

/** A member of etcd beside a control plane loses its data. A directory represents the host, a file the list of members. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');
const LIBRARIES = [
  'control-plane/files/member',
  'etcd/files/etcd',
  'etcd/files/join',
  'repair/files/seal',
  'repair/files/etcd-data',
  'repair/files/etcd-start',
  'repair/files/put',
].map((name) => read(`roles/${name}.sh`));
const [OWN, OTHER, THIRD] = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
/** The other members belong to one etcd. */
const OTHERS = { [OTHER]: 'x', [THIRD]: 'x' };
const MANIFEST = 'etc/kubernetes/manifests/etcd.yaml';
const DATA = 'var/lib/etcd';
const DESCRIBED = '    - --data-dir=/var/lib/etcd\n    - --initial-cluster=n=https://10.0.0.1:2380\n';

let root: string;
const at = (path: string) => join(root, path);
const text = (path: string) => readFile(at(path), 'utf8');
async function put(path: string, content: string): Promise<void> {
  await mkdir(join(at(path), '..'), { recursive: true });
  await writeFile(at(path), content);
}
beforeEach(async () => {
  root = await hostFolder();
  await put('etc/matryoshka/joined', 'c n 10.0.0.1\n');
  await put('etc/matryoshka/seal', 'end\n');
  await put(MANIFEST, DESCRIBED);
  await put(`${DATA}/member/wal/0.wal`, 'w');
  await put(`${DATA}/member/snap/db`, 'd');
  await put('members', `${OWN} a1 one false\n${OTHER} b2 two false\n${THIRD} d4 three false\n`);
});
afterEach(() => rm(root, { recursive: true }));

interface Etcd {
  /** Id of etcd at each address that answers. */
  ids?: Readonly<Record<string, string>>;
  /** Last line of etcd's log. */
  log?: string;
  peers?: string;
  /** Addresses of members that do not answer. */
  sick?: string;
  /** Whether the others list this member as a learner. */
  isLearner?: boolean;
  /** Members that have lost their data. */
  allLost?: string;
}

async function run(
  script: string,
  { ids = OTHERS, log = '', peers = `${OTHER} ${THIRD}`, sick = '', isLearner = false, allLost = OWN }: Etcd,
) {
  await put('var/log/pods/kube-system_etcd-n_u/etcd/0.log', `first\n${log}\n`);
  const answers = Object.entries(ids).map(([address, id]) => `'${address}') echo ${id} ;;`);
  const stubs = `
    sleep() { :; }; systemctl() { echo "$*" >> "$R/calls"; }; unpack() { :; }; forget_programs() { :; }
    container() { :; }; running() { :; }; sync() { :; }; healthy() { :; }
    systemd-run() { echo "systemd-run $*" >> "$R/calls"; mkdir -p "$R/var/lib/etcd/member"; }
    listed_at() { echo '[{"peerURLs":["https://${OWN}:2380"],"isLearner":${isLearner}}]'; }
    etcd_id_at() { case $1 in ${answers.join(' ')} *) return 1 ;; esac; }
    members() { cat "$R/members"; }
    answers() { case ' ${sick} ' in *" $1 "*) return 1 ;; esac; }
    etcd() {
      case "$*" in
        'member remove '*) sed -i "/ $3 /d" "$R/members" ;;
        'member add '*) echo '${OWN} c3 - true' >> "$R/members"; echo 'ETCD_INITIAL_CLUSTER="two=https://${OTHER}:2380,n=https://${OWN}:2380"' ;;
        'member promote '*) sed -i 's/ c3 - true/ c3 n false/' "$R/members" ;;
      esac
    }`;
  const vars = `ETCD_HERE=yes IS_MASTER=yes IP=${OWN} NAME=n ETCD_PEERS='${peers}' ETCD_ENDPOINTS= ETCD_ID=x ALL_LOST='${allLost}' ETCD_IMAGE=e SEQUENCE=7 LEARNER_SECONDS=5 LOST_DATA=lost ETCD_ANSWERS_WITHIN=0`;
  const body = `${vars}\n${read('files/prelude.sh')}\n${LIBRARIES.join('\n')}\n${stubs}\nROLE=repair\n${read(`roles/repair/files/${script}.sh`)}`;
  const { exitCode, stdout, stderr } = await execa('/bin/bash', ['--norc', '-c', body], {
    env: { MATRYOSHKA_ROOT: root },
    reject: false,
  });
  return { code: exitCode, said: stdout, stderr };
}

describe('a member has lost its data', () => {
  const lost = async (etcd: Etcd = {}) =>
    /result: lost_data=(.*)/.exec((await run('lost-member', etcd)).said)?.[1];
  const PANIC =
    'tocommit(12) is out of range [lastIndex(0)]. Was the raft log corrupted, truncated, or lost?';

  it('if there is none, and it does not answer', async () => {
    await rm(at(`${DATA}/member`), { recursive: true });
    expect(await lost()).toBe('there is no data in /var/lib/etcd');
    // It has its data elsewhere.
    expect(await lost({ ids: { ...OTHERS, [OWN]: 'x' } })).toBeUndefined();
    await put('etc/kubernetes/manifests/mine.yaml', '- --data-dir=/data\n');
    expect(await lost()).toBeUndefined();
  });

  it('if it answers as another etcd than the majority', async () => {
    expect(await lost({ ids: { ...OTHERS, [OWN]: 'y' } })).toMatch(/of another etcd/);
    expect(await lost({ ids: { ...OTHERS, [OWN]: 'x' } })).toBeUndefined();
    // The first one has begun anew.
    expect(await lost({ ids: { [OWN]: 'x', [OTHER]: 'y', [THIRD]: 'x' } })).toBeUndefined();
  });

  it('only if a majority of all members has one etcd', async () => {
    await rm(at(`${DATA}/member`), { recursive: true });
    for (const ids of [{}, { [OTHER]: 'x' }, { [OTHER]: 'x', [THIRD]: 'y' }])
      expect(await lost({ ids })).toBeUndefined();
    expect(await lost({ peers: OTHER })).toBeUndefined();
    expect(await lost({ peers: '' })).toBeUndefined();
  });

  it('if it does not answer, and its log says so', async () => {
    expect(await lost({ log: PANIC })).toMatch(/raft log corrupted, truncated, or lost/);
    expect(await lost({ log: 'no space left on device' })).toBeUndefined();
    expect(await lost({ log: PANIC, ids: { ...OTHERS, [OWN]: 'x' } })).toBeUndefined();
  });

  it('if an interrupted repair has left it as a learner', async () => {
    expect(await lost({ ids: { ...OTHERS, [OWN]: 'x' }, isLearner: true })).toMatch(/is a learner/);
  });
});

describe('a new member', () => {
  it('gets the place of the lost one, whose data is set aside', async () => {
    await put(`${DATA}/.before-restore/3/x`, 'x');
    expect(await run('rejoin', {})).toMatchObject({ code: 0, stderr: '' });
    expect(await text('members')).toBe(`${OTHER} b2 two false\n${THIRD} d4 three false\n${OWN} c3 n false\n`);
    expect(await text('calls')).toContain(
      `--data-dir=/var/lib/etcd --initial-cluster=two=https://${OTHER}:2380,n=https://${OWN}:2380 --initial-cluster-state=existing\n`,
    );
    expect(await text(`${DATA}/.before-repair/7/member/snap/db`)).toBe('d');
    expect(existsSync(at(`${DATA}/.before-restore/3/x`))).toBe(true);
    // With the data its pod starts as that member.
    expect(await text(MANIFEST)).toBe(DESCRIBED);
  });

  it('is not added while another member does not answer, and the repair continues', async () => {
    const { code, stderr } = await run('rejoin', { sick: THIRD });
    expect(code).toBe(0);
    expect(stderr).toMatch(/do not answer: three \(10\.0\.0\.3\).*nothing was changed/);
    expect(await text('var/lib/matryoshka/repair.why')).toMatch(/gets no new member: .*do not answer/);
    expect(existsSync(at(MANIFEST))).toBe(true);
    expect(existsSync(at(`${DATA}/member/snap/db`))).toBe(true);
    // One that has lost its data too is the next.
    expect(await run('rejoin', { sick: THIRD, allLost: `${OWN} ${THIRD}` })).toMatchObject({ stderr: '' });
    expect(await text('members')).toContain(`${OWN} c3 n false`);
  });

  it('continues after an interruption', async () => {
    // Its first data was set aside already.
    await put(`${DATA}/.before-repair/7/member/snap/db`, 'former');
    await put('members', `${OTHER} b2 two false\n${THIRD} d4 three false\n${OWN} c2 - true\n`);
    expect(await run('rejoin', {})).toMatchObject({ code: 0, stderr: '' });
    expect(await text(`${DATA}/.before-repair/7/member/snap/db`)).toBe('former');
    expect(await text('members')).toBe(`${OTHER} b2 two false\n${THIRD} d4 three false\n${OWN} c3 n false\n`);
  });
});
