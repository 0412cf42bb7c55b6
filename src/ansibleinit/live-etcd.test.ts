import { expect, it } from 'vitest';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { liveEtcd } from './live-etcd.ts';

/** Which member of etcd a snapshot is read from. Answers are those of etcd's JSON gateway. */

type Answers = Partial<Record<'status' | 'range' | 'hashkv', string | Error>>;
const status = (more: object) => JSON.stringify({ header: { member_id: '1' }, leader: '9', ...more });
const READ = JSON.stringify({ header: { revision: '7' } });
const HASH = JSON.stringify({ header: { revision: '7' }, hash: 42, compact_revision: '3' });
const HEALTHY: Answers = { status: status({}), range: READ, hashkv: HASH };

/** Returns the etcd of members with these answers, and the addresses that were asked for a hash. */
async function etcdOf(...members: Answers[]) {
  const asked: string[] = [];
  const hosts = members.map((_member, at): PlannedHost => {
    const ip = `10.9.0.${at + 1}`;
    return { member: { ip, name: ip, duties: ['control-plane', 'etcd'] }, action: 'stay' };
  });
  const connections = new Map(
    members.map((answers, at) => [
      `10.9.0.${at + 1}`,
      {
        run: async (command: string) => {
          const what = (['status', 'range', 'hashkv'] as const).find((path) => command.includes(`/${path}'`));
          if (what === 'hashkv') asked.push(`10.9.0.${at + 1}`);
          const answer = what && answers[what];
          if (answer instanceof Error) throw answer;
          return { code: 0, stdout: answer ?? '', stderr: '' };
        },
      },
    ]),
  );
  return { etcd: await liveEtcd(hosts, connections), asked };
}
/** Returns the address of the member that a snapshot is read from. */
async function chosenOf(...members: Answers[]): Promise<string | undefined> {
  const { etcd, asked } = await etcdOf(...members);
  await etcd.hashAt(7).catch(() => {});
  return asked[0];
}

const LEADER: Answers = { ...HEALTHY, status: status({ leader: '1' }) };

it('reads from a member that is not the leader, or from the leader if no other is fit', async () => {
  expect(await chosenOf(LEADER, HEALTHY)).toBe('10.9.0.2');
  expect(await chosenOf(LEADER, {})).toBe('10.9.0.1');
});

it.each<[string, Answers, string]>([
  ['has no leader', { ...HEALTHY, status: status({ leader: '0' }) }, 'has no leader, or is a learner'],
  ['is a learner', { ...HEALTHY, status: status({ isLearner: true }) }, 'has no leader, or is a learner'],
  [
    'is corrupt',
    { ...HEALTHY, status: status({ errors: ['memberID:1 alarm:CORRUPT '] }) },
    'data is corrupt, as etcd says',
  ],
  [
    'cannot catch up',
    { ...HEALTHY, range: '{"error":"etcdserver: request timed out"}' },
    'request timed out',
  ],
  ['is away', { status: new Error('no answer') }, '10.9.0.1: no answer'],
])('does not read from a member that %s', async (_what, unfit, reason) => {
  expect(await chosenOf(unfit, HEALTHY)).toBe('10.9.0.2');
  await expect(etcdOf(unfit)).rejects.toThrow(reason);
});

it('asks other members for the hash if the first one does not answer', async () => {
  const { etcd, asked } = await etcdOf({ ...HEALTHY, hashkv: new Error('no answer') }, HEALTHY);
  expect(await etcd.hashAt(7)).toEqual({ hash: 42, revision: 7, compactRevision: 3 });
  expect(asked).toEqual(['10.9.0.1', '10.9.0.2']);
  const silent = { ...HEALTHY, hashkv: new Error('no answer') };
  await expect((await etcdOf(silent)).etcd.hashAt(7)).rejects.toThrow(
    'no member of etcd gives the hash of revision 7: 10.9.0.1: no answer',
  );
});

it('says that a revision is compacted only if etcd says so', async () => {
  const compacted = '{"code":11,"message":"etcdserver: mvcc: required revision has been compacted"}';
  expect(await (await etcdOf({ ...HEALTHY, hashkv: compacted })).etcd.hashAt(7)).toBeUndefined();
  const other = '{"code":13,"message":"internal"}';
  await expect((await etcdOf({ ...HEALTHY, hashkv: other })).etcd.hashAt(7)).rejects.toThrow('no member');
});
